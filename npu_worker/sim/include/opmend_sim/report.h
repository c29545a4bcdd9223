// What the simulator noticed: findings for the side channel (OPMEND_SIM_REPORT), and the errors that stop a kernel.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace opmend_sim {

struct Buffer;

// Where in the kernel a call stands. As a default argument it is evaluated at the caller.
struct Where {
    const char* file;
    int line;
    static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return Where{file, line}; }
};

// Last parameter of every call that may report: the caller's place.
#define OPMEND_WHERE ::opmend_sim::Where where = ::opmend_sim::Where::here()

// The kernel can't go on (hardware would trap or hang). Reaches Python as RuntimeError "rule: message (file:line)".
struct KernelError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Counts a finding; equal rule and place are counted together. severity: "violation" or "warning". The side channel also says the core
// that ran, the buffer (its position and the place of its InitBuffer) and how to mend it (runtime/findings.cpp, by rule).
// With OPMEND_SIM_STRICT=1 a violation stops the kernel as an error does.
void note(const char* rule, const char* severity, const std::string& message, Where where, const Buffer* buffer = nullptr);
// Counts a finding of severity "error" and throws KernelError.
[[noreturn]] void fail(const char* rule, const std::string& message, Where where, const Buffer* buffer = nullptr);
// Throws KernelError "unsupported by the simulator: what".
[[noreturn]] void unsupported(const std::string& what, Where where);
// Appends what was counted since the last call to the side channel, if one is named.
void flush_report();

inline std::string text(uint64_t value) { return std::to_string(value); }
// " (file:line)", or nothing for an empty place.
std::string place(Where where);

}  // namespace opmend_sim
