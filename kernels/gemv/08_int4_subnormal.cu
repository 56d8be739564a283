// int4, subnormal: a code is a number as it lies there, and no exponent is put in front of it.
// The change: n in the lowest bits of an fp16 is the subnormal number n * 2^-24, which the units take like any other at full speed; the
// sums come out 2^24 times too small, which fp32 makes good exactly.
// Why it helps: no constant for an exponent has to be kept at hand; a warp takes four tiles of rows instead of two, and so has
// twice as many bytes under way.
//
// y (rows) = W times x (cols, fp16), where W[row][col] = scales[row][col / 128] * (code - 8); sums in fp32, y in fp32. Of the eight
// weights of a word, number i lies in bits 4 (i / 2) + 16 (i % 2) and up. Rows of codes are filled up to whole groups.
// W and scales lie in blocks of 16 rows x 1 group, rows filled up to 16.
// GUARD 1: any cols, x is fetched value by value; GUARD 0: cols is a multiple of 128.
// TILES of 16 rows a warp, DEPTH groups under way at once, THREADS a block, whose warps share the groups; grid (rows / 16 TILES).

#define GROUP 128
#define WARPS (THREADS / 32)
#define ROWS (16 * TILES)

typedef unsigned short half;  // the bits of an fp16 number

// Sixteen bytes that nobody will want again: L1 is left to x and the scales.
__device__ __forceinline__ uint4 stream(const uint4* p) {
    uint4 v;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
__device__ __forceinline__ float widen(unsigned bits) {
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"((half)bits));
    return v;
}

// Two fp16 numbers in a word: a - b, and a * b + c.
__device__ __forceinline__ unsigned minus(unsigned a, unsigned b) {
    unsigned d;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
__device__ __forceinline__ unsigned multiply_add(unsigned a, unsigned b, unsigned c) {
    unsigned d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}

// c (16 x 8) += a (16 x 16) times b (16 x 8), spread over the lanes as PTX lays down for m16n8k16; Turing takes two steps of 8.
__device__ __forceinline__ void mma(float* c, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#else
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(b0));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a2), "r"(a3), "r"(b1));
#endif
}

// Weights 2i and 2i + 1 of a word over 2^24 times their scale, as two fp16 numbers: whole multiples of 2^-24, from -8 to 7.
__device__ __forceinline__ unsigned pair(unsigned word, int i) {
    const unsigned bits = i < 2 ? word : word >> 8;
    if (i % 2 == 0) return minus(bits & 0x000f000fu, 0x00080008u);                // n - 8
    return multiply_add(bits & 0x00f000f0u, 0x2c002c00u, 0x80088008u);  // 16 n / 16 - 8
}

// Eight neighbours of x in four words, into the lanes that want them; the others keep what they have. `inside` of them exist.
__device__ __forceinline__ void values(bool wanted, const half* p, int inside, unsigned* v) {
#if GUARD
    for (int i = 0; i < 4; ++i)
        if (wanted) v[i] = (2 * i < inside ? p[2 * i] : 0u) | (2 * i + 1 < inside ? p[2 * i + 1] : 0u) << 16;
#else
    asm("{\n.reg .pred wanted;\nsetp.ne.u32 wanted, %5, 0;\n@wanted ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
        : "+r"(v[0]), "+r"(v[1]), "+r"(v[2]), "+r"(v[3])
        : "l"(p), "r"((unsigned)wanted));
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS) gemv_int4_subnormal(
    const uint4* codes, const half* __restrict__ scales, const half* __restrict__ x, float* y, int rows, int cols) {
    __shared__ float part[WARPS][ROWS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int upper = lane / 4, piece = lane % 4;  // rows `upper` and `upper` + 8 of a tile; which 32 of a group
    const int row0 = blockIdx.x * ROWS, groups = (cols + GROUP - 1) / GROUP;

    long long first[2 * TILES];  // where a lane's 2 TILES rows begin, in groups; the next group of a row lies 16 on
#pragma unroll
    for (int r = 0; r < 2 * TILES; ++r) {
        const int row = row0 + upper + 8 * r;
        first[r] = (long long)min(row / 16, (rows - 1) / 16) * groups * 16 + row % 16;
    }

    float sum[2 * TILES] = {0.0f};
    unsigned v[16] = {0u};
    for (int group0 = warp * DEPTH; group0 < groups; group0 += WARPS * DEPTH) {
        uint4 w[DEPTH][2 * TILES];
#pragma unroll
        for (int d = 0; d < DEPTH; ++d)
#pragma unroll
            for (int r = 0; r < 2 * TILES; ++r) w[d][r] = stream(codes + (first[r] + min(group0 + d, groups - 1) * 16) * 4 + piece);
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            const int group = group0 + d, col = group * GROUP + piece * 32;
            if (group >= groups) break;
#pragma unroll
            for (int j = 0; j < 4; ++j) values(upper == 0, x + col + 8 * j, cols - col - 8 * j, v + 4 * j);
#pragma unroll
            for (int t = 0; t < TILES; ++t) {
                float c[4] = {0.0f};
                const uint4 a = w[d][2 * t], b = w[d][2 * t + 1];
                const unsigned above[4] = {a.x, a.y, a.z, a.w}, below[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
                for (int j = 0; j < 4; ++j)
#pragma unroll
                    for (int i = 0; i < 4; i += 2)
                        mma(c, pair(above[j], i), pair(below[j], i), pair(above[j], i + 1), pair(below[j], i + 1), v[4 * j + i], v[4 * j + i + 1]);
                sum[2 * t] += widen(scales[first[2 * t] + group * 16]) * c[0];
                sum[2 * t + 1] += widen(scales[first[2 * t + 1] + group * 16]) * c[2];
            }
        }
    }

    // Column 0 of the products lies in the lanes of piece 0.
    if (piece == 0)
#pragma unroll
        for (int r = 0; r < 2 * TILES; ++r) part[warp][upper + 8 * r] = sum[r];
    __syncthreads();
    if (threadIdx.x < ROWS && row0 + (int)threadIdx.x < rows) {
        float total = 0.0f;
        for (int w = 0; w < WARPS; ++w) total += part[w][threadIdx.x];
        y[row0 + threadIdx.x] = total * 16777216.0f;
    }
}
