// Linked into programs alone (an extension's errors become Python exceptions): how an error that nobody catches ends the process.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <unistd.h>

namespace {
[[noreturn]] void end_with_message() {
    std::fflush(stdout);
    try {
        if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
        std::fputs("stopped: terminate without an error\n", stderr);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "stopped: %s\n", error.what());
    } catch (...) {
        std::fputs("stopped: an error of an unknown type\n", stderr);
    }
    std::fflush(stderr);
    _exit(1);
}
[[maybe_unused]] const auto installed = std::set_terminate(end_with_message);
}  // namespace
