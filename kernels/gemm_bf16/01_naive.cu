// Naive: every warp loads its own operands straight from global memory.
// The change: tensor cores do the arithmetic. One mma.sync multiplies 16 x 16 values of A with 16 x 8 of B for a whole warp,
// which is 4096 FLOP; the lanes hold the operands, called fragments, in registers, two bf16 values in each.
// Why it is slow: a load of A takes 16 bytes out of each of eight rows, one of B single values out of four. Each is split into
// four to eight passes through the load path, and the warps of a block fetch the same values again and again.
//
// C (M x N) = A (M x K) times B (K x N), row-major bf16, sums in fp32. GUARD 1: any M, N, K, what lies outside counts as zero;
// GUARD 0: M, N are multiples of BM, BN, K of 16, and the pointers are 4-byte aligned.
// A warp computes WM x WN outputs, a block of BM / WM x BN / WN warps BM x BN; grid (columns / BN, rows / BM).

typedef unsigned short bf16;

#define WARPS_N (BN / WN)
#define THREADS (BM / WM * WARPS_N * 32)
#define MI (WM / 16)
#define NI (WN / 8)

// Two values in one register, the first in the low half: neighbours in a row, of which `inside` lie in the matrix.
__device__ __forceinline__ unsigned across(const bf16* p, int inside) {
#if GUARD
    return (inside > 0 ? p[0] : 0u) | (inside > 1 ? p[1] : 0u) << 16;
#else
    return *reinterpret_cast<const unsigned*>(p);
#endif
}

// The same with the second value one row below the first.
__device__ __forceinline__ unsigned down(const bf16* p, int N, int inside) {
#if GUARD
    return (inside > 0 ? p[0] : 0u) | (inside > 1 ? p[N] : 0u) << 16;
#else
    return p[0] | unsigned(p[N]) << 16;
#endif
}

__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Two neighbours of a row of C, rounded to bf16; `inside` of them lie in the matrix.
__device__ __forceinline__ void store(bf16* p, float first, float second, int inside) {
    unsigned both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
#if GUARD
    if (inside > 0) p[0] = bf16(both);
    if (inside > 1) p[1] = bf16(both >> 16);
#else
    *reinterpret_cast<unsigned*>(p) = both;
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) mma_naive(const bf16* A, const bf16* B, bf16* C, int M, int N, int K) {
    const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2;
    const int row0 = blockIdx.y * BM + warp / WARPS_N * WM + group, col0 = blockIdx.x * BN + warp % WARPS_N * WN;

    float sum[MI][NI][4] = {};
    for (int k = 0; k < K; k += 16) {
        unsigned a[MI][4], b[NI][2];
#pragma unroll
        for (int i = 0; i < MI; ++i)
#pragma unroll
            for (int r = 0; r < 4; ++r) {
                const int row = row0 + i * 16 + r % 2 * 8, at = k + r / 2 * 8 + pair;
                a[i][r] = across(A + (long long)row * K + at, row < M ? K - at : 0);
            }
#pragma unroll
        for (int j = 0; j < NI; ++j)
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int at = k + r * 8 + pair, col = col0 + j * 8 + group;
                b[j][r] = down(B + (long long)at * N + col, N, col < N ? K - at : 0);
            }
#pragma unroll
        for (int i = 0; i < MI; ++i)
#pragma unroll
            for (int j = 0; j < NI; ++j) mma(sum[i][j], a[i], b[j]);
    }

#pragma unroll
    for (int i = 0; i < MI; ++i)
#pragma unroll
        for (int j = 0; j < NI; ++j)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = row0 + i * 16 + half * 8, col = col0 + j * 8 + pair;
                store(C + (long long)row * N + col, sum[i][j][half * 2], sum[i][j][half * 2 + 1], row < M ? N - col : 0);
            }
}
