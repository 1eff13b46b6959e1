/*
 * nod/cpp/json: JSON values, to read and to build. Included by <nod/nod.hpp>.
 *
 * Views belong to the run they came from. kept_json is the one that outlives it.
 */
#ifndef NOD_CPP_JSON_HPP
#define NOD_CPP_JSON_HPP

#include <nod/cpp/text.hpp>

#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>

namespace nod
{

/* ------------------------------------------------------------------------------------------
 * JSON values: a view, as cheap to copy as a pointer. What is not there is false, "" and 0.
 */
class json
{
  public:
    json() noexcept = default;
    json(const nod_json *at) noexcept : at_(at) {}

    explicit operator bool() const noexcept { return at_ != nullptr; }
    const nod_json *get() const noexcept { return at_; }

    bool has(const text &key) const { return nod_has(at_, key.c_str()); } /* and is not null */
    json operator[](const text &key) const { return nod_get(at_, key.c_str()); }
    json operator[](const char *key) const { return nod_get(at_, key); }
    template <class I> std::enable_if_t<std::is_integral_v<I>, json> operator[](I index) const
    {
        return nod_at(at_, static_cast<std::size_t>(index));
    }
    std::size_t size() const { return nod_count(at_); } /* items, or members */

    std::string_view as_str() const { return detail::view(nod_as_str(at_)); }
    std::int64_t as_int() const { return nod_as_int(at_); }
    double as_double() const { return nod_as_double(at_); }
    bool as_bool() const { return nod_as_bool(at_); }
    std::string_view as_number_text() const { return detail::view(nod_as_number_text(at_)); }

    /* The items of an array: `for (nod::json item : list)`. */
    class iterator
    {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = json;
        using difference_type = std::ptrdiff_t;
        using pointer = const json *;
        using reference = json;

        iterator(const nod_json *array, std::size_t index) noexcept : array_(array), index_(index)
        {
        }
        json operator*() const { return nod_at(array_, index_); }
        iterator &operator++()
        {
            ++index_;
            return *this;
        }
        iterator operator++(int) { return iterator(array_, index_++); }
        bool operator==(const iterator &other) const { return index_ == other.index_; }
        bool operator!=(const iterator &other) const { return index_ != other.index_; }

      private:
        const nod_json *array_;
        std::size_t index_;
    };
    iterator begin() const { return iterator(at_, 0); }
    iterator end() const { return iterator(at_, size()); }

  private:
    const nod_json *at_ = nullptr;
};

/* A JSON value that outlives the run it was made in. */
class kept_json
{
  public:
    kept_json() noexcept = default;
    explicit kept_json(json value) : at_(nod_json_dup(value.get())) {}
    json get() const noexcept { return at_.get(); }

  private:
    struct release {
        void operator()(nod_json *at) const noexcept { nod_json_free(at); }
    };
    std::unique_ptr<nod_json, release> at_;
};

namespace detail
{

template <class T, class = void> struct is_list : std::false_type {
};
template <class T>
struct is_list<T, std::void_t<decltype(std::begin(std::declval<const T &>())),
                              decltype(std::end(std::declval<const T &>()))>> : std::true_type {
};

/* A JSON value in the run's memory, of a text, a number, a boolean, a JSON value or a list of them. */
template <class T> const nod_json *make(nod_call *call, const T &value)
{
    if constexpr (std::is_convertible_v<const T &, json>) {
        return json(value).get();
    } else if constexpr (std::is_same_v<T, bool>) {
        return nod_parse(call, value ? "true" : "false");
    } else if constexpr (std::is_integral_v<T>) {
        if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(std::int64_t))
            if (value > static_cast<T>(std::numeric_limits<std::int64_t>::max()))
                throw std::out_of_range("A number for nod is larger than an int64_t can be");
        return nod_json_int(call, static_cast<std::int64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
        nod_json *box = nod_object(call);

        nod_set_double(call, box, "n", static_cast<double>(value));
        return nod_get(box, "n");
    } else if constexpr (is_text<T>) {
        return nod_json_str(call, text(std::string_view(value)).c_str());
    } else {
        static_assert(is_list<T>::value,
                      "a JSON value is made of texts, numbers, booleans, JSON values and lists of them");
        nod_json *array = nod_array(call);

        for (const auto &item : value)
            nod_push(call, array, make(call, item));
        return array;
    }
}

} // namespace detail

/* An object that is being built: `call.object().set("name", name).set("count", 3)`. */
class object
{
  public:
    explicit object(nod_call *call) : call_(call), at_(nod_object(call)) {}
    template <class V> object &set(const text &key, const V &value)
    {
        nod_set(call_, at_, key.c_str(), detail::make(call_, value));
        return *this;
    }
    operator json() const noexcept { return at_; }

  private:
    nod_call *call_;
    nod_json *at_;
};

/* An array that is being built: `call.array().push("a").push("b")`. */
class array
{
  public:
    explicit array(nod_call *call) : call_(call), at_(nod_array(call)) {}
    template <class V> array &push(const V &value)
    {
        nod_push(call_, at_, detail::make(call_, value));
        return *this;
    }
    operator json() const noexcept { return at_; }

  private:
    nod_call *call_;
    nod_json *at_;
};

} // namespace nod

#endif
