/* What the checks found, each place once, with its line. */
#include "sim.h"
#include "control.h"
#include <dlfcn.h>
#include <set>
#include <stdio.h>
#include <string.h>

namespace sim {
enum { MOST_REPORTS = 100 };
static std::vector<std::string> reports;
static std::set<std::pair<std::string, const void *>> seen;
std::string kernel_name;

/* "arith.cu:31" for an address of code; empty without addr2line or debug information */
static std::string line_of(const void *pc) {
    Dl_info info;
    if (!pc || !dladdr(pc, &info) || !info.dli_fname) return "";
    char command[512], out[512] = "";
    snprintf(command, sizeof command, "addr2line -e '%s' %#zx 2>/dev/null", info.dli_fname,
             (size_t)((const char *)pc - (const char *)info.dli_fbase) - 1);
    if (FILE *f = popen(command, "r")) {
        if (!fgets(out, sizeof out, f)) out[0] = 0;
        pclose(f);
    }
    const char *name = strrchr(out, '/');
    std::string line = name ? name + 1 : out;
    return line.substr(0, line.find_first_of(" \n"));
}

static std::string place_of(const void *address) {
    char text[128];
    const uintptr_t p = (uintptr_t)address;
    if (!p) return "";
    if (p - shared.at < shared.shadow.bytes) {
        const char *name = shared_variable(p, 1);
        return std::string(", shared memory ") + (name ? name : "outside of all variables");
    }
    if (const Block *b = block_at(p))
        snprintf(text, sizeof text, ", byte %zu of a block of %zu", (size_t)(p - b->at), b->bytes);
    else
        snprintf(text, sizeof text, ", %s memory in no block", arena_of(address) ? "device" : "host");
    return text;
}

void report(const std::string &what, const void *pc, const void *address) {
    if (reports.size() >= MOST_REPORTS || !seen.insert({kernel_name + what, pc}).second) return;
    std::string text = kernel_name + ": " + what;
    if (pc) text += " at " + line_of(pc);
    if (in_kernel || pc) {
        char who[64];
        snprintf(who, sizeof who, " by thread %u of block %u", here.thread, here.block);
        text += who;
    }
    reports.push_back(text + place_of(address));
}
} // namespace sim

using namespace sim;
extern "C" {
int cuda_sim_reports(void) {
    return (int)reports.size();
}
const char *cuda_sim_report(int i) {
    return i >= 0 && i < (int)reports.size() ? reports[(size_t)i].c_str() : "";
}
void cuda_sim_clear_reports(void) {
    reports.clear();
    seen.clear();
}
}
