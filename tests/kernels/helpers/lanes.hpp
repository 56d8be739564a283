// What attention uses beside ptx.hpp: vectors, shuffles and votes of a warp, powers of two, copies that fill with zeros.
// Put before a kernel's source, after ptx.hpp.

#include <cmath>
#include <cstdlib>

struct float4 {
    float x, y, z, w;
};
struct uint2 {
    unsigned x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

template <class To, class From>
static To same_bits(From from) {
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
static float __uint_as_float(unsigned bits) { return same_bits<float>(bits); }
static float __int_as_float(int bits) { return same_bits<float>(bits); }
static unsigned __float_as_uint(float value) { return same_bits<unsigned>(value); }

static float __shfl_xor_sync(unsigned, float value, int mask) {
    const unsigned lane = running->lane;
    exchanges[running->warp].c[lane][0] = value;
    const Exchange& x = with_warp([=](Exchange& x) {
        for (int l = 0; l < 32; ++l) x.out[l][0] = same_bits<unsigned>(x.c[l ^ mask][0]);
    });
    return same_bits<float>(x.out[lane][0]);
}

static int __any_sync(unsigned, int condition) {
    const unsigned lane = running->lane;
    exchanges[running->warp].in[lane][0] = condition != 0;
    const Exchange& x = with_warp([](Exchange& x) {
        unsigned any = 0;
        for (int l = 0; l < 32; ++l) any |= x.in[l][0];
        for (int l = 0; l < 32; ++l) x.out[l][0] = any;
    });
    return x.out[lane][0];
}

static void __syncwarp() {
    with_warp([](Exchange&) {});
}

static void ptx_ex2_approx_ftz_f32(float& y, float x) { y = std::exp2(x); }

// The form with a size reads only so many bytes and fills up with zeros; the source of an empty copy may be anywhere.
static void ptx_cp_async_cg_shared_global(unsigned to, const void* from, int whole, int bytes) {
    static const unsigned char zeros[16] = {};
    if (bytes != 0 && bytes != whole) std::abort();
    ptx_cp_async_cg_shared_global_L2_128B(to, bytes == 0 ? zeros : from, whole);
}
static void ptx_cp_async_cg_shared_global(unsigned to, const void* from, int whole) {
    ptx_cp_async_cg_shared_global_L2_128B(to, from, whole);
}
