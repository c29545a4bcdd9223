#pragma once
#include <cmath>
#include <cstdio>
#include <cstring>
#include <algorithm>
#include <vector>
#include "acl/acl.h"
template <typename T> struct Dev {
    T* p = nullptr;
    size_t n;
    explicit Dev(const std::vector<T>& v) : n(v.size()) {
        aclrtMalloc((void**)&p, n * sizeof(T), ACL_MEM_MALLOC_HUGE_FIRST);
        aclrtMemcpy(p, n * sizeof(T), v.data(), n * sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE);
    }
    std::vector<T> get() {
        std::vector<T> v(n);
        aclrtMemcpy(v.data(), n * sizeof(T), p, n * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST);
        return v;
    }
    uint8_t* u() {
        return (uint8_t*)p;
    }
    ~Dev() {
        aclrtFree(p);
    }
};
struct Session {
    aclrtStream s = nullptr;
    Session() {
        aclInit(nullptr);
        aclrtSetDevice(0);
        aclrtCreateStream(&s);
    }
    void sync() {
        aclrtSynchronizeStream(s);
    }
};
inline float rnd(int i) {
    unsigned x = i * 2654435761u + 12345u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (float)(x % 20001) / 10000.f - 1.f;
}
template <typename A, typename B> int cmp(const char* name, const std::vector<A>& a, const std::vector<B>& b, double tol) {
    int bad = 0;
    double worst = 0;
    for (size_t i = 0; i < b.size(); i++) {
        double d = std::fabs((double)(float)a[i] - (double)(float)b[i]);
        double l = tol * (1 + std::fabs((double)(float)b[i]));
        if (!(d <= l)) {
            if (bad++ < 4) printf("%s[%zu] got %g want %g\n", name, i, (double)(float)a[i], (double)(float)b[i]);
        }
        if (d > worst) worst = d;
    }
    printf("%s: %d bad of %zu, worst %g\n", name, bad, b.size(), worst);
    return bad;
}
