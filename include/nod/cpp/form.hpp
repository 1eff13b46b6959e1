/*
 * nod/cpp/form: forms, and their fields. Included by <nod/nod.hpp>.
 *
 * A form owns its texts. For as long as C looks at one, a detail::c_form points into it.
 */
#ifndef NOD_CPP_FORM_HPP
#define NOD_CPP_FORM_HPP

#include <nod/cpp/text.hpp>

#include <initializer_list>
#include <optional>
#include <vector>

namespace nod
{

/* ------------------------------------------------------------------------------------------
 * Forms. A field says more in one of two ways, which mean the same:
 *
 *     nod::form{nod::text_field("email").title("E-mail").format("email").required(),
 *               nod::int_field("age", {.title = "Age", .min = 18}),              // C++20
 *               nod::choice_field("size", {{"s", "Small"}, {"l", "Large"}})}
 */
struct option {
    text value{};
    text title{};
};

struct field_options {
    text title{};
    text description{};
    bool required = false;
    std::optional<double> min{};
    std::optional<double> max{};
    text format{};
    text pattern{};
    text hint{};
    text preset{};
};

class field
{
  public:
    field(nod_field_kind kind, text name, std::vector<option> choices, field_options more)
        : name_(std::move(name)), kind_(kind), choices_(std::move(choices)), more_(std::move(more))
    {
    }

    field &title(text value) { return set(more_.title, std::move(value)); }
    field &description(text value) { return set(more_.description, std::move(value)); }
    field &required(bool value = true) { return set(more_.required, value); }
    field &min(double value) { return set(more_.min, std::optional<double>(value)); }
    field &max(double value) { return set(more_.max, std::optional<double>(value)); }
    field &format(text value) { return set(more_.format, std::move(value)); }
    field &pattern(text value) { return set(more_.pattern, std::move(value)); }
    field &hint(text value) { return set(more_.hint, std::move(value)); }
    template <class V> field &preset(const V &value)
    {
        return set(more_.preset, text(cat(value)));
    }

    /* As C has it; `choices` holds the options, for as long as the field is used. */
    nod_field c_field(std::vector<nod_option> &choices) const
    {
        nod_field out{};

        out.name = name_.c_str();
        out.kind = kind_;
        if (kind_ == NOD_FIELD_CHOICE || kind_ == NOD_FIELD_CHOICES) {
            for (const option &one : choices_)
                choices.push_back({one.value.c_str(), one.title.c_str()});
            choices.push_back({nullptr, nullptr});
            out.options = choices.data();
        }
        out.title = more_.title.c_str();
        out.description = more_.description.c_str();
        out.required = more_.required;
        out.has_min = more_.min.has_value();
        out.min_value = more_.min.value_or(0);
        out.has_max = more_.max.has_value();
        out.max_value = more_.max.value_or(0);
        out.format = more_.format.c_str();
        out.pattern = more_.pattern.c_str();
        out.hint = more_.hint.c_str();
        out.preset = more_.preset.c_str();
        return out;
    }

  private:
    template <class T> field &set(T &member, T value)
    {
        member = std::move(value);
        return *this;
    }

    text name_;
    nod_field_kind kind_;
    std::vector<option> choices_;
    field_options more_;
};

inline field text_field(text name, field_options more = {})
{
    return field(NOD_FIELD_TEXT, std::move(name), {}, std::move(more));
}
inline field number_field(text name, field_options more = {})
{
    return field(NOD_FIELD_NUMBER, std::move(name), {}, std::move(more));
}
inline field int_field(text name, field_options more = {})
{
    return field(NOD_FIELD_INT, std::move(name), {}, std::move(more));
}
inline field bool_field(text name, field_options more = {})
{
    return field(NOD_FIELD_BOOL, std::move(name), {}, std::move(more));
}
inline field choice_field(text name, std::vector<option> choices, field_options more = {})
{
    return field(NOD_FIELD_CHOICE, std::move(name), std::move(choices), std::move(more));
}
inline field choices_field(text name, std::vector<option> choices, field_options more = {})
{
    return field(NOD_FIELD_CHOICES, std::move(name), std::move(choices), std::move(more));
}

class form
{
  public:
    form() = default;
    form(std::initializer_list<field> fields) : fields_(fields) {}
    explicit form(std::vector<field> fields) : fields_(std::move(fields)) {}
    form &add(field one)
    {
        fields_.push_back(std::move(one));
        return *this;
    }
    const std::vector<field> &fields() const noexcept { return fields_; }

  private:
    std::vector<field> fields_;
};

namespace detail
{

/* A form as C has it. It points into the form that it was made of. */
class c_form
{
  public:
    explicit c_form(const form *from) : there_(from != nullptr)
    {
        std::size_t i = 0;

        if (!from)
            return;
        choices_.resize(from->fields().size());
        for (const field &one : from->fields())
            fields_.push_back(one.c_field(choices_[i++]));
        form_ = {sizeof(nod_field), fields_.data(), fields_.size()};
    }
    c_form(const c_form &) = delete;
    c_form &operator=(const c_form &) = delete;
    const nod_form *get() const noexcept { return there_ ? &form_ : nullptr; }

  private:
    bool there_;
    std::vector<std::vector<nod_option>> choices_;
    std::vector<nod_field> fields_;
    nod_form form_{};
};

} // namespace detail

} // namespace nod

#endif
