/*
 * nod/cpp/text: how a handler is left, and texts. Included by <nod/nod.hpp>.
 *
 * Holds always: nothing that is thrown passes a frame of C. Whatever C calls goes through
 * detail::contain.
 */
#ifndef NOD_CPP_TEXT_HPP
#define NOD_CPP_TEXT_HPP

#include <nod/nod.h>

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#if !defined(__cpp_exceptions)
#error "nod.hpp needs exceptions: a handler that waits is left by one. Without them use nod.h."
#endif

namespace nod
{

/* ------------------------------------------------------------------------------------------
 * How a handler is left.
 */
struct pending {
};

class error : public std::exception
{
  public:
    explicit error(nod_status status) noexcept : status_(status) {}
    nod_status status() const noexcept { return status_; }
    const char *what() const noexcept override { return nod_status_name(status_); }

  private:
    nod_status status_;
};

/* Returns on NOD_OK; otherwise leaves the handler. For functions of nod.h that have no counterpart
 * here: `nod::check(nod_whatever(call.get(), ...))`. */
inline void check(nod_status status)
{
    if (status == NOD_PENDING)
        throw pending{};
    if (status != NOD_OK)
        throw error(status);
}

/* ------------------------------------------------------------------------------------------
 * Text.
 */

/* A text that is given to nod, from whatever has one. Empty (NULL in C) unless one is given. */
class text
{
  public:
    text() noexcept = default;
    text(std::nullptr_t) noexcept {}
    text(const char *at) noexcept : at_(at) {}
    text(std::string own) : own_(std::move(own)), owns_(true) { refuse_nul(); }
    text(std::string_view view) : own_(view), owns_(true) { refuse_nul(); }

    const char *c_str() const noexcept { return owns_ ? own_.c_str() : at_; }

  private:
    /* C would stop reading there, without a word. */
    void refuse_nul() const
    {
        if (own_.find('\0') != std::string::npos)
            throw std::invalid_argument("A text for nod has a NUL character in it");
    }

    const char *at_ = nullptr;
    std::string own_;
    bool owns_ = false;
};

namespace detail
{

inline std::string_view view(const char *at) noexcept
{
    return at ? std::string_view(at) : std::string_view();
}

template <class T> inline constexpr bool is_text = std::is_convertible_v<const T &, std::string_view>;

template <class T> void append(std::string &out, const T &part)
{
    if constexpr (std::is_same_v<T, bool>) {
        out += part ? "true" : "false";
    } else if constexpr (std::is_same_v<T, char>) {
        out += part;
    } else if constexpr (std::is_integral_v<T>) {
        out += std::to_string(part);
    } else if constexpr (std::is_floating_point_v<T>) {
        char digits[40];

        std::snprintf(digits, sizeof(digits), "%.15g", static_cast<double>(part));
        out += digits;
    } else {
        static_assert(is_text<T>, "nod::cat joins texts, numbers and booleans");
        out += std::string_view(part);
    }
}

} // namespace detail

/* The parts, one after the other: texts, numbers, booleans. `nod::cat("item-", i)`. */
template <class... Part> std::string cat(const Part &...parts)
{
    std::string out;

    (detail::append(out, parts), ...);
    return out;
}

/* As printf: `nod::format("%.2f", amount)`. */
inline std::string format(const char *how, ...) NOD_PRINTF(1, 2);
inline std::string format(const char *how, ...)
{
    va_list args, again;

    va_start(args, how);
    va_copy(again, args);
    const int length = std::vsnprintf(nullptr, 0, how, args);
    va_end(args);
    std::string out(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
    if (length > 0)
        std::vsnprintf(out.data(), out.size() + 1, how, again);
    va_end(again);
    return out;
}

namespace detail
{

/* Runs what C++ has written for a frame of C: whatever is thrown ends here. `fail` is told the
 * sentence of an exception, or NULL. */
template <class Body, class Fail> nod_status contain(Body &&body, Fail &&fail) noexcept
{
    try {
        return body();
    } catch (const pending &) {
        return NOD_PENDING;
    } catch (const error &e) {
        return e.status();
    } catch (const std::exception &e) {
        return fail(e.what());
    } catch (...) {
        return fail("The tool failed.");
    }
}

/* Handlers may return nothing or a nod_status. */
template <class F, class... Arg> nod_status status_of(F &&f, Arg &&...args)
{
    if constexpr (std::is_same_v<std::invoke_result_t<F, Arg...>, nod_status>) {
        return std::invoke(std::forward<F>(f), std::forward<Arg>(args)...);
    } else {
        static_assert(std::is_void_v<std::invoke_result_t<F, Arg...>>,
                      "a handler returns nothing, or a nod_status");
        std::invoke(std::forward<F>(f), std::forward<Arg>(args)...);
        return NOD_OK;
    }
}

} // namespace detail

} // namespace nod

#endif
