// SPDX-License-Identifier: Apache-2.0
// fmt's own code, once for all that links this library: its headers alone would have every file
// compile it anew (mapcore/options/algorithm_table.cc: four times as long), and its shared library
// would be one more thing that has to be on every node, in root's daemons too. What fmt's headers
// leave to its library is in format-inl.h, but for the templates, which are named here. One that is
// missing is an undefined symbol when the programs are linked; tests/check/plugin tells it too.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template char decimal_point_impl<char>(locale_ref);
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template dragonbox::decimal_fp<float> dragonbox::to_decimal<float>(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal<double>(double) noexcept;
template void buffer<char>::append(const char*, const char*);
#if FMT_VERSION < 110000
template void vformat_to<char>(buffer<char>&, string_view, format_args, locale_ref);
#endif

}  // namespace detail
FMT_END_NAMESPACE
