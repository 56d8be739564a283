// mma probe: the math roof of the tensor cores as mma.sync reaches them, bf16 in and fp32 sums.
// Every warp holds MI x 2 fragments of A, NI of B and MI x NI accumulators in registers, as the inner loop of a product does,
// and multiplies them over and over; memory is touched before and after only. 16 accumulators a warp hide the latency of an
// mma. A round adds A B and then A' B, where A' is -A but for a 1 more at column (row % 16). All values are whole numbers that
// bf16 holds exactly, and all sums stay below 2^24: after `rounds` rounds, row r of the result is rounds x row (r % 16) of B,
// to the bit. FLOP of a launch: 2 x 4096 x MI x NI x rounds x warps. `when` has three numbers a warp: its SM, and the SM's
// clock before and after.

typedef unsigned short bf16;

__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A is MI x 16 rows of 16, A' as much behind it, B 16 rows of NI x 8, out MI x 16 rows of NI x 8 for each warp; all row-major.
extern "C" __global__ void __launch_bounds__(THREADS) probe_mma(const bf16* A, const bf16* B, float* out, long long* when,
                                                               int rounds) {
    const int lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4 * 2;
    const long long warp = (blockIdx.x * (long long)THREADS + threadIdx.x) / 32;
    unsigned a[2][MI][4], b[NI][2];
#pragma unroll
    for (int s = 0; s < 2; ++s)
#pragma unroll
        for (int i = 0; i < MI; ++i)
#pragma unroll
            for (int r = 0; r < 4; ++r) {
                const bf16* p = A + ((s * MI + i) * 16 + r % 2 * 8 + group) * 16 + r / 2 * 8 + pair;
                a[s][i][r] = p[0] | unsigned(p[1]) << 16;
            }
#pragma unroll
    for (int j = 0; j < NI; ++j)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const bf16* p = B + (r * 8 + pair) * (NI * 8) + j * 8 + group;
            b[j][r] = p[0] | unsigned(p[NI * 8]) << 16;
        }

    float sum[MI][NI][4] = {};
    __syncthreads();
    const long long begin = clock64();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int s = 0; s < 2; ++s)
#pragma unroll
            for (int i = 0; i < MI; ++i)
#pragma unroll
                for (int j = 0; j < NI; ++j) mma(sum[i][j], a[s][i], b[j]);
    __syncthreads();
    const long long end = clock64();

    out += warp * (MI * 16 * NI * 8);
#pragma unroll
    for (int i = 0; i < MI; ++i)
#pragma unroll
        for (int j = 0; j < NI; ++j)
#pragma unroll
            for (int r = 0; r < 4; ++r)
                out[(i * 16 + r / 2 * 8 + group) * (NI * 8) + j * 8 + pair + r % 2] = sum[i][j][r];
    if (lane == 0) {
        unsigned sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        when[warp * 3] = sm;
        when[warp * 3 + 1] = begin;
        when[warp * 3 + 2] = end;
    }
}
