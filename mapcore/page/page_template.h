// SPDX-License-Identifier: Apache-2.0
// The parts of the page that are the same for every run: page.html, page.css and the scripts, put
// into the program by CMake. page_html() has places such as {{title}}. Thread safety: constants.
#pragma once

namespace ondeloc {

const char* page_html();
const char* page_style();
const char* page_script();

}  // namespace ondeloc
