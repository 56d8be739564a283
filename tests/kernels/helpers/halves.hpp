// fp16 beside ptx.hpp and lanes.hpp: conversions, pairs of numbers, products on the tensor cores, loads of shared memory.
// What each instruction does is after the PTX ISA. Put before a kernel's source, after lanes.hpp.

#include <deque>

static double from_half(unsigned bits) { return (double)same_bits<_Float16>((unsigned short)bits); }
static unsigned to_half(double value) { return same_bits<unsigned short>((_Float16)value); }

static void ptx_cvt_f32_f16(float& v, unsigned short bits) { v = (float)from_half(bits); }
static void ptx_sub_rn_f16x2(unsigned& d, unsigned a, unsigned b) {
    d = to_half(from_half(a) - from_half(b)) | to_half(from_half(a >> 16) - from_half(b >> 16)) << 16;
}
static void ptx_fma_rn_f16x2(unsigned& d, unsigned a, unsigned b, unsigned c) {
    d = to_half(from_half(a) * from_half(b) + from_half(c)) |
        to_half(from_half(a >> 16) * from_half(b >> 16) + from_half(c >> 16)) << 16;
}
static void ptx_ld_shared_u16(unsigned short& bits, unsigned from) { std::memcpy(&bits, at_shared(from), 2); }
static void ptx_ld_shared_v4_u32(unsigned& x, unsigned& y, unsigned& z, unsigned& w, unsigned from) {
    if (from % 16) std::abort();
    unsigned four[4];
    std::memcpy(four, at_shared(from), 16);
    x = four[0], y = four[1], z = four[2], w = four[3];
}

// Reads only so many bytes and fills up with zeros.
static void ptx_cp_async_ca_shared_global(unsigned to, const void* from, int whole, int bytes) {
    static std::deque<std::vector<unsigned char>> filled;
    if (to % whole || (std::size_t)from % whole || bytes < 0 || bytes > whole) std::abort();
    filled.emplace_back(whole, 0);
    std::memcpy(filled.back().data(), from, bytes);
    ptx_cp_async_cg_shared_global_L2_128B(to, filled.back().data(), whole);
}
static void ptx_createpolicy_fractional_L2_evict_first_b64(unsigned long long&) {}

// D = A B + C, lanes and registers as for bf16 in ptx.hpp.
static void ptx_mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32(float& d0, float& d1, float& d2, float& d3, unsigned a0,
                                                                  unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                                                                  unsigned b1, float c0, float c1, float c2, float c3) {
    const unsigned lane = running->lane, operands[6] = {a0, a1, a2, a3, b0, b1};
    const float sums[4] = {c0, c1, c2, c3};
    Exchange& mine = exchanges[running->warp];
    std::memcpy(mine.in[lane], operands, sizeof operands);
    std::memcpy(mine.c[lane], sums, sizeof sums);
    Exchange& x = with_warp([](Exchange& x) {
        double a[16][16], b[16][8];
        for (int l = 0; l < 32; ++l)
            for (int e = 0; e < 2; ++e) {
                const int g = l / 4, t = l % 4;
                for (int i = 0; i < 4; ++i) a[g + i % 2 * 8][2 * t + e + i / 2 * 8] = from_half(x.in[l][i] >> 16 * e);
                for (int i = 0; i < 2; ++i) b[2 * t + e + i * 8][g] = from_half(x.in[l][4 + i] >> 16 * e);
            }
        for (int l = 0; l < 32; ++l)
            for (int i = 0; i < 4; ++i) {
                const int row = l / 4 + i / 2 * 8, column = l % 4 * 2 + i % 2;
                double sum = x.c[l][i];
                for (int k = 0; k < 16; ++k) sum += a[row][k] * b[k][column];
                const float rounded = (float)sum;
                std::memcpy(&x.out[l][i], &rounded, 4);
            }
    });
    float result[4];
    std::memcpy(result, x.out[lane], sizeof result);
    d0 = result[0], d1 = result[1], d2 = result[2], d3 = result[3];
}
