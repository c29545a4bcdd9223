#pragma once
#include <cstdio>
#include <string>
#include <vector>

inline bool read_file(const std::string& path, std::vector<float>& values) {
    FILE* in = std::fopen(path.c_str(), "rb");
    if (!in) return false;
    const size_t got = std::fread(values.data(), sizeof(float), values.size(), in);
    std::fclose(in);
    return got == values.size();
}
inline bool write_file(const std::string& path, const std::vector<float>& values) {
    FILE* out = std::fopen(path.c_str(), "wb");
    if (!out) return false;
    std::fwrite(values.data(), sizeof(float), values.size(), out);
    return std::fclose(out) == 0;
}
