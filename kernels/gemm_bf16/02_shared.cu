// Shared-memory tile: a block fetches a tile once, ldmatrix hands out the fragments.
// The change: A and B come into shared memory 16 bytes a lane. One ldmatrix then loads four 8 x 8 fragments for a whole warp,
// those of B transposed on the way. The 16-byte pieces of a row lie in another order in each row (XOR swizzle).
// Why it helps: a value passes through the load path once a block to get in, and the eight rows of a fragment lie in different
// banks: four fragments take four passes. Without the swizzle those of A would take 16 and those of B 32.
//
// C (M x N) = A (M x K) times B (K x N), row-major bf16, sums in fp32. GUARD 1: any M, N, K, values are fetched one by one and
// what lies outside counts as zero; GUARD 0: M, N, K are multiples of BM, BN, BK and the pointers are 16-byte aligned.
// A warp computes WM x WN outputs, a block of BM / WM x BN / WN warps BM x BN; grid (columns / BN, rows / BM).

typedef unsigned short bf16;
struct __align__(16) Eight {
    unsigned word[4];
};

#define WARPS_N (BN / WN)
#define THREADS (BM / WM * WARPS_N * 32)
#define MI (WM / 16)
#define NI (WN / 8)
#define A_PIECES (BK / 8)
#define B_PIECES (BN / 8)
#define A_COPIES (BM * A_PIECES / THREADS)
#define B_COPIES (BK * B_PIECES / THREADS)

// Where a piece of eight values lies in its tile: eight rows below each other put theirs into eight different groups of banks.
__device__ __forceinline__ int in_a(int row, int piece) { return row * BK + (piece ^ (row / 2 % 4)) * 8; }
__device__ __forceinline__ int in_b(int row, int piece) { return row * BN + (piece ^ (row % 8)) * 8; }

// Eight neighbours of a row, of which `inside` lie in the matrix.
__device__ __forceinline__ Eight fetch(const bf16* p, int inside) {
#if GUARD
    Eight v;
    for (int j = 0; j < 4; ++j)
        v.word[j] = (2 * j < inside ? p[2 * j] : 0u) | (2 * j + 1 < inside ? p[2 * j + 1] : 0u) << 16;
    return v;
#else
    return *reinterpret_cast<const Eight*>(p);
#endif
}

// Four 8 x 8 fragments, lane l naming row l % 8 of the l / 8th; register r holds the r-th.
__device__ __forceinline__ void load_a(unsigned (&r)[4], const bf16* p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(p))
                 : "memory");
}

// The same, each of them transposed: the fragments of two neighbouring 16 x 8 parts of B.
__device__ __forceinline__ void load_b(unsigned (&left)[2], unsigned (&right)[2], const bf16* p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(left[0]), "=r"(left[1]), "=r"(right[0]), "=r"(right[1])
                 : "r"((unsigned)__cvta_generic_to_shared(p))
                 : "memory");
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

extern "C" __global__ void __launch_bounds__(THREADS, 2) mma_shared(const bf16* A, const bf16* B, bf16* C, int M,
                                                                    int N, int K) {
    __shared__ __align__(128) bf16 a[BM * BK];
    __shared__ __align__(128) bf16 b[BK * BN];
    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;
    A += (long long)row0 * K;
    B += col0;

    float sum[MI][NI][4] = {};
    for (int step = 0; step < K; step += BK) {
        Eight from_a[A_COPIES], from_b[B_COPIES];
#pragma unroll
        for (int i = 0; i < A_COPIES; ++i) {
            const int row = tid / A_PIECES + i * (THREADS / A_PIECES), at = step + tid % A_PIECES * 8;
            from_a[i] = fetch(A + (long long)row * K + at, row0 + row < M ? K - at : 0);
        }
#pragma unroll
        for (int i = 0; i < B_COPIES; ++i) {
            const int row = step + tid / B_PIECES + i * (THREADS / B_PIECES), at = tid % B_PIECES * 8;
            from_b[i] = fetch(B + (long long)row * N + at, row < K ? N - col0 - at : 0);
        }
#pragma unroll
        for (int i = 0; i < A_COPIES; ++i)
            *reinterpret_cast<Eight*>(&a[in_a(tid / A_PIECES + i * (THREADS / A_PIECES), tid % A_PIECES)]) = from_a[i];
#pragma unroll
        for (int i = 0; i < B_COPIES; ++i)
            *reinterpret_cast<Eight*>(&b[in_b(tid / B_PIECES + i * (THREADS / B_PIECES), tid % B_PIECES)]) = from_b[i];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; k += 16) {
            unsigned fa[MI][4], fb[NI][2];
#pragma unroll
            for (int i = 0; i < MI; ++i) load_a(fa[i], &a[in_a(warp_row + i * 16 + lane % 16, k / 8 + lane / 16)]);
#pragma unroll
            for (int j = 0; j < NI; j += 2)
                load_b(fb[j], fb[j + 1], &b[in_b(k + lane % 16, warp_col / 8 + j + lane / 16)]);
#pragma unroll
            for (int i = 0; i < MI; ++i)
#pragma unroll
                for (int j = 0; j < NI; ++j) mma(sum[i][j], fa[i], fb[j]);
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < MI; ++i)
#pragma unroll
        for (int j = 0; j < NI; ++j)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = row0 + warp_row + i * 16 + half * 8 + lane / 4, col = col0 + warp_col + j * 8 + lane % 4 * 2;
                store(C + (long long)row * N + col, sum[i][j][half * 2], sum[i][j][half * 2 + 1], row < M ? N - col : 0);
            }
}
