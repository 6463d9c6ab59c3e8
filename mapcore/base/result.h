// SPDX-License-Identifier: Apache-2.0
// The one error type of ondeloc. A Result<T> holds a value or an Error; callers must check it
// ([[nodiscard]]). An Error is one sentence for the user ("what: where: what to do") plus the errno
// behind it, and callers add context with within(). An error means that the caller cannot have the
// thing that it asked for. A rank that died, an empty matrix or a lost event is not an error.
// Thread safety: values, like std::string. Nothing here throws but std::bad_alloc.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

namespace ondeloc {

class [[nodiscard]] Error {
 public:
  explicit Error(std::string message, int code = 0) : message_(std::move(message)), code_(code) {}
  // "what: strerror(errno)"; call it at once, before anything can change errno.
  static Error from_errno(std::string_view what, int code = errno) {
    return Error(std::string(what) + ": " + std::strerror(code), code);
  }
  const std::string& message() const { return message_; }
  int code() const { return code_; }  // errno, 0 where none applies
  // The same error with "context: " before it.
  Error within(std::string_view context) && {
    message_.insert(0, ": ").insert(0, context);
    return std::move(*this);
  }

 private:
  std::string message_;
  int code_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }
  // REQUIRES: ok().
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  // REQUIRES: !ok().
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

// A Result without a value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : failed_(true), error_(std::move(error)) {}  // NOLINT
  explicit operator bool() const { return !failed_; }
  bool ok() const { return !failed_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  bool failed_ = false;
  Error error_{""};
};

}  // namespace ondeloc
