// Uncoalesced: one thread for each output.
// The change: none yet; this is the first kernel one writes. A thread walks along a row of A and down a column of B.
// Why it is slow: threadIdx.x, which tells the 32 lanes of a warp apart, picks the row. In every step the lanes read A at 32
// addresses that lie a whole row apart, so one load instruction is split into 32, one for each 128-byte line it touches.
//
// C (M x N) = A (M x K) times B (K x N), row-major fp32, any M, N, K. TILE x TILE threads, grid (rows / TILE, columns / TILE).

extern "C" __global__ void __launch_bounds__(TILE * TILE) gemm_uncoalesced(const float* A, const float* B, float* C, int M, int N,
                                                                           int K) {
    const int row = blockIdx.x * TILE + threadIdx.x;
    const int col = blockIdx.y * TILE + threadIdx.y;
    if (row >= M || col >= N) return;

    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
