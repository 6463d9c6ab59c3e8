// SPDX-License-Identifier: Apache-2.0
#include "mapcore/page/page.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string_view>

#include "mapcore/page/page_template.h"
#include "mapcore/page/run_data.h"

namespace ondeloc {
namespace {

using PageJson = nlohmann::ordered_json;

// JSON inside a script element: no text may end the element or begin a comment.
std::string json_in_html(const PageJson& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', true, PageJson::error_handler_t::replace)) {
    if (c == '<' || c == '>' || c == '&')
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out;
}

std::string html_text(const std::string& text) {
  const PageJson utf8 = text;
  const auto clean = PageJson::parse(utf8.dump(-1, ' ', false, PageJson::error_handler_t::replace));
  static const std::map<char, std::string> kMarks = {
      {'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}};
  std::string out;
  for (const char c : clean.get<std::string>()) {
    const auto at = kMarks.find(c);
    out += at == kMarks.end() ? std::string(1, c) : at->second;
  }
  return out;
}

// Puts the values in the places of the template in one pass: a value is not searched for places.
std::string filled(std::string_view page, const std::map<std::string_view, std::string>& values) {
  std::string out;
  while (!page.empty()) {
    const std::size_t at = page.find("{{"), end = at == page.npos ? at : page.find("}}", at);
    if (end == page.npos) break;
    out += page.substr(0, at);
    out += values.at(page.substr(at + 2, end - at - 2));
    page.remove_prefix(end + 2);
  }
  return out.append(page);
}

bool are_of_one_step(const std::vector<ReportRun>& runs) {
  const ReportRun& first = runs.front();
  return std::all_of(runs.begin(), runs.end(), [&](const ReportRun& run) {
    return run.job == first.job && run.restarts == first.restarts && run.step == first.step;
  });
}

}  // namespace

Result<std::string> to_page(const std::vector<ReportRun>& runs) {
  if (runs.empty()) return Error("there is no run to draw; give a report or a profile");
  const bool one_step = are_of_one_step(runs);
  PageJson data = PageJson::array();
  for (const ReportRun& run : runs) {
    if (run.ranks.size() > kMostPageRanks)
      return Error(
          fmt::format("the page of a run shows at most {} ranks of a node, and {} are given; "
                      "use -f text",
                      kMostPageRanks, run.ranks.size()));
    data.push_back(run_data(run, one_step ? Tab::kNode : Tab::kStepAndNode));
  }
  return filled(page_html(), {{"title", html_text(title_of(runs.front()))},
                              {"verdict", html_text(verdict(runs.front().run))},
                              {"style", page_style()},
                              {"tabs", one_step ? "Nodes of the step" : "Steps and their nodes"},
                              {"data", json_in_html(data)},
                              {"script", page_script()}});
}

}  // namespace ondeloc
