// Operand reuse: the same multiply-adds in another order.
// The change: a thread walks its 8 x 8 outputs like a snake: along one row, back along the next. Every multiply-add then shares one
// of its factors with the one before.
// Why it helps: a multiply-add reads three registers, and the register file gives two a clock, one from its even and one from its
// odd half. What the instruction before has just read lies in a small cache beside the unit; with a shared factor in every step,
// only half as much waits for the register file.
//
// C (M x N) = A (M x K) times B (K x N), row-major fp32. GUARD 1: any M, N, K, values are fetched one by one and what lies outside
// counts as zero; GUARD 0: M, N, K are multiples of BM, BN, BK and the pointers are 16-byte aligned.
// 256 threads of 8 x 8 outputs for BM = BN = 128, BK = 8; two blocks on an SM; grid (columns / BN, rows / BM).

#define THREADS (BM * BN / 64)
#define A_LANES (BK / 4)
#define B_LANES (BN / 4)
#define BUFFER (BK * (BM + BN))

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

extern "C" __global__ void __launch_bounds__(THREADS, 2) gemm_operand_reuse(const float* A, const float* B, float* C, int M, int N,
                                                                            int K) {
    __shared__ __align__(16) float buffers[2 * BUFFER];
    const int tid = threadIdx.x;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int tile_col = tid % (BN / 8) * 4, tile_row = tid / (BN / 8) * 4;
    const int a_row = tid / A_LANES, a_col = tid % A_LANES * 4;
    const int b_row = tid / B_LANES, b_col = tid % B_LANES * 4;
    A += (row0 + a_row) * K + a_col;
    B += b_row * N + col0 + b_col;

    float4 next_a, next_b;
    __align__(16) float sum[64] = {0.0f};
    __align__(16) float from_a[8];
    __align__(16) float from_b[8];

    auto fetch_tile = [&](int step) {
        next_a = fetch(A, row0 + a_row < M ? K - step - a_col : 0);
        next_b = fetch(B, step + b_row < K ? N - col0 - b_col : 0);
        A += BK;
        B += BK * N;
    };
    auto put_tile = [&](float* buffer) {
        float* a = buffer + a_col * BM + a_row;
        a[0 * BM] = next_a.x;
        a[1 * BM] = next_a.y;
        a[2 * BM] = next_a.z;
        a[3 * BM] = next_a.w;
        *reinterpret_cast<float4*>(buffer + BK * BM + b_row * BN + b_col) = next_b;
    };

    fetch_tile(0);
    put_tile(buffers);
    __syncthreads();
    if (BK < K) fetch_tile(BK);
    int now = 0;
    for (int step = 0; step < K; step += BK) {
        const float* a = buffers + now + tile_row;
        const float* b = buffers + now + BK * BM + tile_col;
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            *reinterpret_cast<float4*>(&from_a[0]) = *reinterpret_cast<const float4*>(a + k * BM);
            *reinterpret_cast<float4*>(&from_a[4]) = *reinterpret_cast<const float4*>(a + k * BM + BM / 2);
            *reinterpret_cast<float4*>(&from_b[0]) = *reinterpret_cast<const float4*>(b + k * BN);
            *reinterpret_cast<float4*>(&from_b[4]) = *reinterpret_cast<const float4*>(b + k * BN + BN / 2);
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int turn = 0; turn < 8; ++turn) {
                    const int j = i % 2 ? 7 - turn : turn;
                    sum[i * 8 + j] += from_a[i] * from_b[j];
                }
        }
        now = BUFFER - now;
        if (step + BK < K) put_tile(buffers + now);
        if (step + 2 * BK < K) fetch_tile(step + 2 * BK);
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
