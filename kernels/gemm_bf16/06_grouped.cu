// Blocks in groups: those that run at the same time work on one square of C.
// The change: blocks are renumbered, GROUP rows of blocks at a time and column by column.
// Why it helps: the blocks at work share fewer different rows of A and columns of B: L2 answers more of their loads, device
// memory fewer.
//
// C (M x N) = A (M x K) times B (K x N), row-major bf16, sums in fp32. GUARD 1: any M, N, K, values are copied one by one and
// what lies outside counts as zero; GUARD 0: M, N, K are multiples of BM, BN, BK and the pointers are 16-byte aligned.
// A warp computes WM x WN outputs, a block of BM / WM x BN / WN warps BM x BN; grid (columns / BN, rows / BM).
// Dynamic shared memory: STAGES of the two tiles, (BM + BN) x BK x 2 bytes each.
// DEEP 1, the next rung: a stage is 64 deep in place of 32, in 144 KiB; half as many barriers and waits for the same work.

#if DEEP  // the same kernel under another name, so that a profiler tells the two rungs apart
#define ENTRY mma_deep_tiles
#else
#define ENTRY mma_grouped
#endif

typedef unsigned short bf16;

#define WARPS_N (BN / WN)
#define THREADS (BM / WM * WARPS_N * 32)
#define MI (WM / 16)
#define NI (WN / 8)
#define A_PIECES (BK / 8)
#define B_PIECES (BN / 8)
#define A_COPIES (BM * A_PIECES / THREADS)
#define B_COPIES (BK * B_PIECES / THREADS)
#define STAGE (BM * BK + BK * BN)

// Where a piece of eight values lies in its tile: eight rows below each other put theirs into eight different groups of banks.
__device__ __forceinline__ int in_a(int row, int piece) { return row * BK + (piece ^ (row / (64 / BK) % A_PIECES)) * 8; }
__device__ __forceinline__ int in_b(int row, int piece) { return row * BN + (piece ^ (row % 8)) * 8; }

__device__ __forceinline__ unsigned address(const bf16* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Send eight neighbours of a row on their way to shared memory; `inside` of them lie in the matrix.
__device__ __forceinline__ void copy(bf16* to, const bf16* from, int inside) {
#if GUARD
    for (int j = 0; j < 8; ++j) to[j] = j < inside ? from[j] : 0;
#else
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(address(to)), "l"(from) : "memory");
#endif
}
__device__ __forceinline__ void end_of_stage() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Wait until all but the newest STAGES - 2 stages that this thread sent for have come.
__device__ __forceinline__ void wait_for_stage() { asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory"); }

// Four 8 x 8 fragments, lane l naming row l % 8 of the l / 8th; register r holds the r-th.
__device__ __forceinline__ void load_a(unsigned (&r)[4], const bf16* p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address(p))
                 : "memory");
}

// The same, each of them transposed: the fragments of two neighbouring 16 x 8 parts of B.
__device__ __forceinline__ void load_b(unsigned (&left)[2], unsigned (&right)[2], const bf16* p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(left[0]), "=r"(left[1]), "=r"(right[0]), "=r"(right[1])
                 : "r"(address(p))
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

// Send for the tiles of one step: `rows` of A from the block's first on, `cols` of B, BK deep.
__device__ __forceinline__ void fetch(bf16* a, const bf16* A, const bf16* B, int step, int rows, int cols, int N, int K) {
    bf16* b = a + BM * BK;
    const int tid = threadIdx.x;
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i) {
        const int row = tid / A_PIECES + i * (THREADS / A_PIECES), at = step + tid % A_PIECES * 8;
        copy(&a[in_a(row, tid % A_PIECES)], A + (long long)row * K + at, row < rows ? K - at : 0);
    }
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i) {
        const int row = tid / B_PIECES + i * (THREADS / B_PIECES), at = tid % B_PIECES * 8;
        copy(&b[in_b(row, tid % B_PIECES)], B + (long long)(step + row) * N + at, step + row < K ? cols - at : 0);
    }
}

// The fragments of a warp at depth k of a stage.
__device__ __forceinline__ void load_fragments(unsigned (&fa)[MI][4], unsigned (&fb)[NI][2], const bf16* a, int k,
                                               int warp_row, int warp_col) {
    const bf16* b = a + BM * BK;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < MI; ++i) load_a(fa[i], &a[in_a(warp_row + i * 16 + lane % 16, k / 8 + lane / 16)]);
#pragma unroll
    for (int j = 0; j < NI; j += 2) load_b(fb[j], fb[j + 1], &b[in_b(k + lane % 16, warp_col / 8 + j + lane / 16)]);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) ENTRY(const bf16* A, const bf16* B, bf16* C, int M, int N, int K) {
    extern __shared__ __align__(128) bf16 memory[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // the blocks of GROUP rows go column by column
    const int order = blockIdx.y * gridDim.x + blockIdx.x, group = order / (GROUP * gridDim.x), first = group * GROUP;
    const int rows = min(GROUP, (int)gridDim.y - first), place = order - group * GROUP * gridDim.x;
    const int row0 = (first + place % rows) * BM, col0 = place / rows * BN;
    const int warp_row = warp / WARPS_N * WM, warp_col = warp % WARPS_N * WN;

    A += (long long)row0 * K;
    B += col0;

    float sum[MI][NI][4] = {};
    for (int stage = 0; stage < STAGES - 1; ++stage) {
        if (stage * BK < K) fetch(memory + stage * STAGE, A, B, stage * BK, M - row0, N - col0, N, K);
        end_of_stage();
    }
    unsigned fa[2][MI][4], fb[2][NI][2];
    wait_for_stage();
    __syncthreads();
    load_fragments(fa[0], fb[0], memory, 0, warp_row, warp_col);
    int now = 0, next = STAGES - 1;
    for (int step = 0; step < K; step += BK) {
        const int ahead = step + (STAGES - 1) * BK;
        if (ahead < K) fetch(memory + next * STAGE, A, B, ahead, M - row0, N - col0, N, K);
        end_of_stage();
        next = now;
#pragma unroll
        for (int k = 0; k < BK; k += 16) {
            const int from = k / 16 % 2, to = 1 - from;
            if (k + 16 == BK) {
                wait_for_stage();
                __syncthreads();
                now = now + 1 < STAGES ? now + 1 : 0;
            }
            load_fragments(fa[to], fb[to], memory + now * STAGE, (k + 16) % BK, warp_row, warp_col);
#pragma unroll
            for (int i = 0; i < MI; ++i)
#pragma unroll
                for (int j = 0; j < NI; ++j) mma(sum[i][j], fa[from][i], fb[from][j]);
        }
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
