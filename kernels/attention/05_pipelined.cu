// Pipelined: the next tile is under way while this one is multiplied, and a warp has twice the queries.
// The change: K and V come by cp.async, which needs no registers and does not wait: V while the scores are made, the next K
// while the values are added up. A warp has 32 queries, so each piece of K and V that it reads from shared memory is used
// twice. The largest score so far is only replaced once another passes it by a factor of 2^8 in weight, so that most tiles
// shrink nothing.
// Why it helps: no warp waits for memory with nothing to multiply; half the reads of shared memory for a multiplication; fewer
// instructions beside the multiplications.
//
// O (heads x S x 128) = softmax(Q K^T / sqrt(128)) V, row-major bf16, sums in fp32. CAUSAL 1: a query sees no later key.
// GUARD 1: any S; GUARD 0: S is a multiple of BQ and BK. Pointers are 16-byte aligned. WARPS warps (a multiple of 4) of MT * 16
// queries and BK keys at a time; grid (queries / BQ, heads), BLOCKS blocks to an SM; (BQ + 2 * BK) * 256 bytes of dynamic
// shared memory for Q, K and V.

#define D 128
#define BQ (WARPS * MT * 16)
#define THREADS (WARPS * 32)
#define MINUS_INFINITY __int_as_float(0xff800000)
#define LOG2_SCALE 0.12751744f  // log2(e) / sqrt(128): exp(x / sqrt(128)) is two to this times x
#define SLACK 8.0f              // weights stay below two to this, which bf16 and fp32 hold as well as 1

#if GUARD
#define INSIDE(condition) (condition)
#else
#define INSIDE(condition) true
#endif

// c (16 x 8 fp32) += a (16 x 16 bf16) times b (16 x 8 bf16), each spread over the lanes of a warp (PTX ISA, mma.m16n8k16).
__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8 x 8 matrices of bf16 from shared memory: lanes 8i to 8i + 7 point to the rows of matrix i.
__device__ __forceinline__ void load_matrices(unsigned (&m)[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(row));
}

// The same, each matrix transposed.
__device__ __forceinline__ void load_transposed(unsigned (&m)[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(row));
}

// Two fp32 values rounded to bf16.
__device__ __forceinline__ unsigned narrow(float low, float high) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// ROWS x 128 values on their way into shared memory, 16 bytes a lane; rows from `rows` on are not read and become zero. Piece c
// of row r goes to c XOR (r mod 8).
template <int ROWS>
__device__ __forceinline__ void send(unsigned to, const unsigned short* from, int rows) {
    static_assert(THREADS % 128 == 0, "a thread's rows are a multiple of eight apart, so that all have one swizzle");
    const int row0 = threadIdx.x / 16, piece = threadIdx.x % 16;
    to += row0 * (D * 2) + (piece ^ row0 % 8) * 16;
    from += row0 * D + piece * 8;
#pragma unroll
    for (int row = 0; row < ROWS; row += THREADS / 16) {
#if GUARD
        const int bytes = row0 + row < rows ? 16 : 0;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     ::"r"(to + row * (D * 2)), "l"(from + row * D), "r"(bytes));
#else
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + row * (D * 2)), "l"(from + row * D));
#endif
    }
}
__device__ __forceinline__ void sent() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ __forceinline__ void arrived() {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
attention_pipelined(const unsigned short* Q, const unsigned short* K, const unsigned short* V, unsigned short* O, int S) {
    extern __shared__ __align__(1024) char shared[];
    const unsigned q = (unsigned)__cvta_generic_to_shared(shared), k = q + BQ * D * 2, v = k + BK * D * 2;
    const int lane = threadIdx.x % 32, row0 = threadIdx.x / 32 * (MT * 16), query0 = blockIdx.x * BQ;
    const long long head = blockIdx.y;
    Q += (head * S + query0) * D;
    send<BQ>(q, Q, S - query0);
    send<BK>(k, K + head * S * D, S);
    sent();

    // the row and piece that a lane points ldmatrix to, in Q and in K; V lies behind K
    const unsigned piece = (lane / 16 ^ lane % 8) * 16;
    const unsigned q_row = q + (row0 + lane % 16) * (D * 2), k_row = k + lane % 16 * (D * 2);
    // a lane holds columns `pair` and `pair` + 1 of every 8, of row `line` and of the row eight below
    const int line = row0 + lane / 4, pair = lane % 4 * 2;
    float out[MT][D / 8][4] = {}, top[MT][2], total[MT][2] = {};
#pragma unroll
    for (int m = 0; m < MT; ++m) top[m][0] = top[m][1] = MINUS_INFINITY;

    const int end = CAUSAL ? min(S, query0 + BQ) : S;
    for (int key0 = 0; key0 < end; key0 += BK) {
        arrived();  // this K; and everyone has finished with the last V
        send<BK>(v, V + (head * S + key0) * D, S - key0);
        sent();
        float sum[MT][BK / 8][4] = {};
#pragma unroll 1  // unrolled, what the compiler loads ahead takes more registers than there are
        for (int half = 0; half < D * 2; half += D)
#pragma unroll
            for (int d = 0; d < D / 16; d += 2) {
                unsigned a[MT][4], b[4];
#pragma unroll
                for (int m = 0; m < MT; ++m) load_matrices(a[m], q_row + half + (d * 16 ^ piece) + m * 16 * (D * 2));
#pragma unroll
                for (int n = 0; n < BK / 8; n += 2) {
                    load_matrices(b, k_row + half + (d * 16 ^ piece) + n * 8 * (D * 2));
#pragma unroll
                    for (int m = 0; m < MT; ++m) {
                        multiply(sum[m][n], a[m], b[0], b[2]);
                        multiply(sum[m][n + 1], a[m], b[1], b[3]);
                    }
                }
            }
        if ((GUARD && key0 + BK > S) || (CAUSAL && key0 + BK > query0 + row0))
#pragma unroll
            for (int m = 0; m < MT; ++m)
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int query = query0 + line + m * 16 + half * 8;
                    const int seen = (CAUSAL ? min(S, query + 1) : S) - key0 - pair;
#pragma unroll
                    for (int n = 0; n < BK / 8; ++n)
#pragma unroll
                        for (int j = 0; j < 2; ++j)
                            if (n * 8 + j >= seen) sum[m][n][half * 2 + j] = MINUS_INFINITY;
                }
        float here[MT][2];
        bool higher = false;
#pragma unroll
        for (int m = 0; m < MT; ++m)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float x = MINUS_INFINITY;
#pragma unroll
                for (int n = 0; n < BK / 8; ++n) x = fmaxf(x, fmaxf(sum[m][n][half * 2], sum[m][n][half * 2 + 1]));
                x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
                here[m][half] = x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
                higher |= (x - top[m][half]) * LOG2_SCALE > SLACK;
            }
        if (__any_sync(0xffffffffu, higher))
#pragma unroll
            for (int m = 0; m < MT; ++m)
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const float before = top[m][half];
                    top[m][half] = fmaxf(before, here[m][half]);
                    const float shrink = power_of_two((before - top[m][half]) * LOG2_SCALE);
                    total[m][half] *= shrink;
#pragma unroll
                    for (int n = 0; n < D / 8; ++n) out[m][n][half * 2] *= shrink, out[m][n][half * 2 + 1] *= shrink;
                }
#pragma unroll
        for (int m = 0; m < MT; ++m)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float offset = top[m][half] * LOG2_SCALE;
#pragma unroll
                for (int n = 0; n < BK / 8; ++n)
#pragma unroll
                    for (int j = 0; j < 2; ++j) {
                        float& x = sum[m][n][half * 2 + j];
                        total[m][half] += x = power_of_two(x * LOG2_SCALE - offset);
                    }
            }
        // the scores of one product lie over the lanes just as the next one wants its left side
        unsigned p[BK / 16][MT][4];
#pragma unroll
        for (int n = 0; n < BK / 8; ++n)
#pragma unroll
            for (int m = 0; m < MT; ++m) {
                p[n / 2][m][n % 2 * 2] = narrow(sum[m][n][0], sum[m][n][1]);
                p[n / 2][m][n % 2 * 2 + 1] = narrow(sum[m][n][2], sum[m][n][3]);
            }
        arrived();  // this V; and everyone has finished with this K
        if (key0 + BK < end) send<BK>(k, K + (head * S + key0 + BK) * D, S - key0 - BK);
        sent();
#pragma unroll
        for (int n = 0; n < BK / 8; n += 2) {
            unsigned b[4];
#pragma unroll
            for (int d = 0; d < D / 8; d += 2) {
                load_transposed(b, k_row + (d % 8 * 16 ^ piece) + d / 8 * 128 + (BK + n * 8) * (D * 2));
#pragma unroll
                for (int m = 0; m < MT; ++m) {
                    multiply(out[m][d], p[n / 2][m], b[0], b[1]);
                    multiply(out[m][d + 1], p[n / 2][m], b[2], b[3]);
                }
            }
        }
    }

    O += (head * S + query0) * D;
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float sum = total[m][half];
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            const float share = 1.0f / sum;
            const int row = line + m * 16 + half * 8;
            if (INSIDE(query0 + row < S))
#pragma unroll
                for (int n = 0; n < D / 8; ++n)
                    *reinterpret_cast<unsigned*>(&O[row * D + n * 8 + pair]) =
                        narrow(out[m][n][half * 2] * share, out[m][n][half * 2 + 1] * share);
        }
}
