// 1D tiling: a thread computes a column of outputs.
// The change: each thread keeps TM sums in registers, one below the other. A value of B that it fetched from shared memory serves
// all TM of them.
// Why it helps: TM + 1 values from shared memory for TM multiply-adds, where it was two for one.
//
// C (M x N) = A (M x K) times B (K x N), row-major fp32. GUARD 1: any M, N, K, what lies outside counts as zero;
// GUARD 0: M, N, K are multiples of BM, BN, BK. BN * BM / TM threads = BM * BK = BK * BN, grid (columns / BN, rows / BM).

#if GUARD
#define INSIDE(condition) (condition)
#else
#define INSIDE(condition) true
#endif

extern "C" __global__ void __launch_bounds__(BM * BN / TM) gemm_tile_1d(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float a[BM * BK], b[BK * BN];
    const int tid = threadIdx.x;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int tile_col = tid % BN, tile_row = tid / BN * TM;
    const int a_row = tid / BK, a_col = tid % BK;
    const int b_row = tid / BN, b_col = tid % BN;
    A += (row0 + a_row) * K + a_col;
    B += b_row * N + col0 + b_col;

    float sum[TM] = {0.0f};
    for (int step = 0; step < K; step += BK) {
        a[tid] = INSIDE(row0 + a_row < M && step + a_col < K) ? *A : 0.0f;
        b[tid] = INSIDE(step + b_row < K && col0 + b_col < N) ? *B : 0.0f;
        __syncthreads();
        A += BK;
        B += BK * N;
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            const float value = b[k * BN + tile_col];
#pragma unroll
            for (int i = 0; i < TM; ++i) sum[i] += a[(tile_row + i) * BK + k] * value;
        }
        __syncthreads();
    }

    const int col = col0 + tile_col;
    for (int i = 0; i < TM; ++i) {
        const int row = row0 + tile_row + i;
        if (INSIDE(row < M && col < N)) C[row * N + col] = sum[i];
    }
}
