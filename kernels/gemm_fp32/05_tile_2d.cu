// 2D tiling: a thread computes a square of outputs.
// The change: each thread keeps TM x TN sums. In every step it fetches TM values of A and TN of B into registers and multiplies
// each with each.
// Why it helps: TM + TN values from shared memory for TM * TN multiply-adds; the registers now carry the reuse.
//
// C (M x N) = A (M x K) times B (K x N), row-major fp32. GUARD 1: any M, N, K, what lies outside counts as zero;
// GUARD 0: M, N, K are multiples of BM, BN, BK. BM * BN / (TM * TN) threads, grid (columns / BN, rows / BM).

#if GUARD
#define INSIDE(condition) (condition)
#else
#define INSIDE(condition) true
#endif

#define THREADS (BM * BN / (TM * TN))
#define A_STEP (THREADS / BK)
#define B_STEP (THREADS / BN)

extern "C" __global__ void __launch_bounds__(THREADS) gemm_tile_2d(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float a[BM * BK], b[BK * BN];
    const int tid = threadIdx.x;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int tile_col = tid % (BN / TN) * TN, tile_row = tid / (BN / TN) * TM;
    const int a_row = tid / BK, a_col = tid % BK;
    const int b_row = tid / BN, b_col = tid % BN;
    A += (row0 + a_row) * K + a_col;
    B += b_row * N + col0 + b_col;

    float sum[TM * TN] = {0.0f}, from_a[TM], from_b[TN];
    for (int step = 0; step < K; step += BK) {
#pragma unroll
        for (int i = 0; i < BM; i += A_STEP)
            a[tid + i * BK] = INSIDE(row0 + a_row + i < M && step + a_col < K) ? A[i * K] : 0.0f;
#pragma unroll
        for (int i = 0; i < BK; i += B_STEP)
            b[tid + i * BN] = INSIDE(step + b_row + i < K && col0 + b_col < N) ? B[i * N] : 0.0f;
        __syncthreads();
        A += BK;
        B += BK * N;
#pragma unroll
        for (int k = 0; k < BK; ++k) {
#pragma unroll
            for (int i = 0; i < TM; ++i) from_a[i] = a[(tile_row + i) * BK + k];
#pragma unroll
            for (int j = 0; j < TN; ++j) from_b[j] = b[k * BN + tile_col + j];
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) sum[i * TN + j] += from_a[i] * from_b[j];
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) {
            const int row = row0 + tile_row + i, col = col0 + tile_col + j;
            if (INSIDE(row < M && col < N)) C[row * N + col] = sum[i * TN + j];
        }
}
