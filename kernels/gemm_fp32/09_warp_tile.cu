// Warp tile: twice the outputs a thread, the 32 lanes of a warp on one compact piece of the tile.
// The change: a warp owns 4 TM x 8 TN outputs, 64 x 64, a thread TM x TN = 16 x 8 of them in 4 x 4 pieces. A lane wants the same
// values of A as the lane two further and the same values of B as its neighbour. While a thread multiplies the values of one k it
// fetches those of the next into a second set of registers.
// Why it helps: six loads serve 128 multiply-adds where four served 64, and what two lanes want alike is fetched once for both: a
// quarter fewer instructions to load with, and half the passes through the load path. Only half as many warps fit, so a load is
// covered by the warp's own work. (A's rows in shared memory are four values longer than the tile: no bank is stored to twice.)
//
// C (M x N) = A (M x K) times B (K x N), row-major fp32. GUARD 1: any M, N, K, values are fetched one by one and what lies outside
// counts as zero; GUARD 0: M, N, K are multiples of BM, BN, BK and the pointers are 16-byte aligned.
// BM * BN / (TM * TN) threads, which copy whole rows of both tiles at a time; BLOCKS blocks on an SM; BK a multiple of 4; grid
// (columns / BN, rows / BM).

#if TUNED  // the same kernel under another name, so that a profiler tells the two rungs apart
#define ENTRY gemm_autotuned
#else
#define ENTRY gemm_warp_tile
#endif

#define THREADS (BM * BN / (TM * TN))
#define WARP_ROWS (4 * TM)
#define WARP_COLS (8 * TN)
#define A_ROW (BM + 4)
#define BUFFER (BK * (A_ROW + BN))
#define A_LANES (BK / 4)
#define B_LANES (BN / 4)
#define A_STEP (THREADS / A_LANES)
#define B_STEP (THREADS / B_LANES)

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

extern "C" __global__ __launch_bounds__(THREADS, BLOCKS) void ENTRY(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float buffers[2 * BUFFER];
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    // Lanes in 4 rows and 8 columns of 4 x 4 pieces: bits 0 and 4 of a lane pick its row, bits 1 to 3 its column.
    const int tile_row = warp / (BN / WARP_COLS) * WARP_ROWS + (lane % 2 + lane / 16 * 2) * 4;
    const int tile_col = warp % (BN / WARP_COLS) * WARP_COLS + lane / 2 % 8 * 4;
    const int a_row = tid / A_LANES, a_col = tid % A_LANES * 4;
    const int b_row = tid / B_LANES, b_col = tid % B_LANES * 4;
    A += (row0 + a_row) * K + a_col;
    B += b_row * N + col0 + b_col;

    float4 next_a[BM / A_STEP], next_b[BK / B_STEP];
    __align__(16) float sum[TM * TN] = {0.0f};
    __align__(16) float from_a[2][TM];
    __align__(16) float from_b[2][TN];

    // Offsets in bytes, which are addresses in shared memory as they stand: changing buffers is one addition.
    int put_a = 4 * (a_col * A_ROW + a_row), put_b = 4 * (BK * A_ROW + b_row * BN + b_col);
    int get_a = 4 * tile_row, get_b = 4 * (BK * A_ROW + tile_col);
    int other = 4 * BUFFER;
    auto at = [&](int offset, int word) { return reinterpret_cast<float*>(reinterpret_cast<char*>(buffers) + offset + 4 * word); };

    auto fetch_tile = [&](int step) {
#pragma unroll
        for (int i = 0; i < BM; i += A_STEP) next_a[i / A_STEP] = fetch(A + i * K, row0 + a_row + i < M ? K - step - a_col : 0);
#pragma unroll
        for (int i = 0; i < BK; i += B_STEP) next_b[i / B_STEP] = fetch(B + i * N, step + b_row + i < K ? N - col0 - b_col : 0);
        A += BK;
        B += BK * N;
    };
    auto put_tile = [&]() {
#pragma unroll
        for (int i = 0; i < BM; i += A_STEP) {
            *at(put_a, i + 0 * A_ROW) = next_a[i / A_STEP].x;
            *at(put_a, i + 1 * A_ROW) = next_a[i / A_STEP].y;
            *at(put_a, i + 2 * A_ROW) = next_a[i / A_STEP].z;
            *at(put_a, i + 3 * A_ROW) = next_a[i / A_STEP].w;
        }
#pragma unroll
        for (int i = 0; i < BK; i += B_STEP) *reinterpret_cast<float4*>(at(put_b, i * BN)) = next_b[i / B_STEP];
        put_a += other;
        put_b += other;
    };
    auto get_values = [&](int k) {
#pragma unroll
        for (int i = 0; i < TM; i += 4)
            *reinterpret_cast<float4*>(&from_a[k % 2][i]) = *reinterpret_cast<const float4*>(at(get_a, k * A_ROW + i * 4));
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            *reinterpret_cast<float4*>(&from_b[k % 2][j]) = *reinterpret_cast<const float4*>(at(get_b, k * BN + j * 8));
    };
    auto multiply = [&](int k) {
#pragma unroll
        for (int i = 0; i < TM; ++i)
#pragma unroll
            for (int turn = 0; turn < TN; ++turn) {
                const int j = i % 2 ? TN - 1 - turn : turn;  // the snake
                sum[i * TN + j] += from_a[k % 2][i] * from_b[k % 2][j];
            }
    };

    fetch_tile(0);
    put_tile();
    __syncthreads();
    if (BK < K) fetch_tile(BK);
    get_values(0);
    for (int step = BK; step < K; step += BK) {
#pragma unroll
        for (int k = 0; k < BK - 1; ++k) {
            get_values(k + 1);
            multiply(k);
        }
        other = -other;
        put_tile();
        get_a -= other;
        get_b -= other;
        if (step + BK < K) fetch_tile(step + BK);
        __syncthreads();
        get_values(0);
        multiply(BK - 1);
    }
#pragma unroll
    for (int k = 0; k < BK; ++k) {
        if (k < BK - 1) get_values(k + 1);
        multiply(k);
    }

#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int row = row0 + tile_row + i / 4 * 16 + i % 4;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            const int col = col0 + tile_col + j * 8;
            store(C + row * N + col, row < M ? N - col : 0, &sum[i * TN + j]);
        }
    }
}
