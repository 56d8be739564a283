// Vectorised loads: four values with one instruction, laid out so that no bank is asked twice.
// The change: global and shared memory are read 16 bytes a lane (float4). A is stored transposed in shared memory and each thread's
// square is split into four 4 x 4 quarters half a tile apart, which is what puts the four values side by side.
// Why it helps: the lanes of a warp now read shared memory without conflicts, so a multiply-add costs fewer passes through the load
// path, and there are fewer instructions to issue.
//
// C (M x N) = A (M x K) times B (K x N), row-major fp32. GUARD 1: any M, N, K, values are fetched one by one and what lies outside
// counts as zero; GUARD 0: M, N, K are multiples of BM, BN, BK and the pointers are 16-byte aligned.
// 256 threads of 8 x 8 outputs for BM = BN = 128, BK = 8; grid (columns / BN, rows / BM).

#define THREADS (BM * BN / 64)
#define A_LANES (BK / 4)
#define B_LANES (BN / 4)

// Four neighbours at once, of which `inside` lie in the matrix.
#if GUARD
__device__ __forceinline__ float4 fetch(const float* p, int inside) {
    return make_float4(inside > 0 ? p[0] : 0.0f, inside > 1 ? p[1] : 0.0f, inside > 2 ? p[2] : 0.0f, inside > 3 ? p[3] : 0.0f);
}
__device__ __forceinline__ void store(float* p, int inside, const float* v) {
    for (int j = 0; j < 4; ++j)
        if (j < inside) p[j] = v[j];
}
#else
__device__ __forceinline__ float4 fetch(const float* p, int) { return *reinterpret_cast<const float4*>(p); }
__device__ __forceinline__ void store(float* p, int, const float* v) {
    *reinterpret_cast<float4*>(p) = *reinterpret_cast<const float4*>(v);
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS) gemm_vectorised(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float a[BK * BM];
    __shared__ __align__(16) float b[BK * BN];
    const int tid = threadIdx.x;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int tile_col = tid % (BN / 8) * 4, tile_row = tid / (BN / 8) * 4;
    const int a_row = tid / A_LANES, a_col = tid % A_LANES * 4;
    const int b_row = tid / B_LANES, b_col = tid % B_LANES * 4;
    A += (row0 + a_row) * K + a_col;
    B += b_row * N + col0 + b_col;

    __align__(16) float sum[64] = {0.0f};
    __align__(16) float from_a[8];
    __align__(16) float from_b[8];
    for (int step = 0; step < K; step += BK) {
        const float4 v = fetch(A, row0 + a_row < M ? K - step - a_col : 0);
        a[(a_col + 0) * BM + a_row] = v.x;
        a[(a_col + 1) * BM + a_row] = v.y;
        a[(a_col + 2) * BM + a_row] = v.z;
        a[(a_col + 3) * BM + a_row] = v.w;
        *reinterpret_cast<float4*>(&b[b_row * BN + b_col]) = fetch(B, step + b_row < K ? N - col0 - b_col : 0);
        __syncthreads();
        A += BK;
        B += BK * N;
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            *reinterpret_cast<float4*>(&from_a[0]) = *reinterpret_cast<const float4*>(&a[k * BM + tile_row]);
            *reinterpret_cast<float4*>(&from_a[4]) = *reinterpret_cast<const float4*>(&a[k * BM + BM / 2 + tile_row]);
            *reinterpret_cast<float4*>(&from_b[0]) = *reinterpret_cast<const float4*>(&b[k * BN + tile_col]);
            *reinterpret_cast<float4*>(&from_b[4]) = *reinterpret_cast<const float4*>(&b[k * BN + BN / 2 + tile_col]);
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) sum[i * 8 + j] += from_a[i] * from_b[j];
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int row = row0 + i / 4 * (BM / 2) + tile_row + i % 4;
        const int col = col0 + tile_col, far = col + BN / 2;
        store(C + row * N + col, row < M ? N - col : 0, &sum[i * 8]);
        store(C + row * N + far, row < M ? N - far : 0, &sum[i * 8 + 4]);
    }
}
