// Tensor cores: a warp multiplies 16 x 16 by 16 x 8 values with one instruction.
// The change: both products of the fused kernel are made by mma.sync (m16n8k16, bf16 in, fp32 sums), fed from shared memory by
// ldmatrix, which hands each lane the pieces that the instruction wants from it. The weights go to bf16 in registers.
// Why it helps: 2048 multiply-adds an instruction of a warp instead of 32, and no fp32 copies of the inputs. What holds it back
// is shared memory: rows are 256 bytes apart, so the eight rows of a matrix lie in the same banks and are read one by one.
//
// O (heads x S x 128) = softmax(Q K^T / sqrt(128)) V, row-major bf16, sums in fp32. CAUSAL 1: a query sees no later key.
// GUARD 1: any S; GUARD 0: S is a multiple of BQ and BK. Pointers are 16-byte aligned. A warp has 16 queries, a block four
// warps and BK keys at a time; grid (queries / BQ, heads), BLOCKS blocks to an SM.

#define D 128
#define BQ 64
#define THREADS 128
#define MINUS_INFINITY __int_as_float(0xff800000)
#define LOG2_SCALE 0.12751744f  // log2(e) / sqrt(128): exp(x / sqrt(128)) is two to this times x

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
__device__ __forceinline__ void load_matrices(unsigned (&m)[4], const unsigned short* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)));
}

// The same, each matrix transposed.
__device__ __forceinline__ void load_transposed(unsigned (&m)[4], const unsigned short* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)));
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

// Where a piece (8 bf16, 16 bytes) of a row lies, piece 0 to 7 of its first or second half: side by side.
__device__ __forceinline__ int place(int row, int half, int piece) { return row * D + half * 64 + piece * 8; }

// ROWS rows into shared memory, 16 bytes a lane; rows from `rows` on are zero.
template <int ROWS>
__device__ __forceinline__ void copy(unsigned short* to, const unsigned short* from, int rows) {
#pragma unroll
    for (int i = 0; i < ROWS * D / 8; i += THREADS) {
        const int row = (i + threadIdx.x) / 16, piece = threadIdx.x % 16;
        uint4 v = make_uint4(0, 0, 0, 0);
        if (INSIDE(row < rows)) v = *reinterpret_cast<const uint4*>(&from[row * D + piece * 8]);
        *reinterpret_cast<uint4*>(&to[place(row, piece / 8, piece % 8)]) = v;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
attention_tensor_cores(const unsigned short* Q, const unsigned short* K, const unsigned short* V, unsigned short* O, int S) {
    __shared__ __align__(16) unsigned short q[BQ * D];
    __shared__ __align__(16) unsigned short k[BK * D];
    __shared__ __align__(16) unsigned short v[BK * D];
    const int lane = threadIdx.x % 32, row0 = threadIdx.x / 32 * 16, query0 = blockIdx.x * BQ;
    const long long head = blockIdx.y;
    Q += (head * S + query0) * D;
    copy<BQ>(q, Q, S - query0);

    // a lane holds columns `pair` and `pair` + 1 of every 8, of row `line` and of the row eight below
    const int line = row0 + lane / 4, pair = lane % 4 * 2;
    float out[D / 8][4] = {}, top[2] = {MINUS_INFINITY, MINUS_INFINITY}, total[2] = {0.0f, 0.0f};
    const int end = CAUSAL ? min(S, query0 + BQ) : S;
    for (int key0 = 0; key0 < end; key0 += BK) {
        __syncthreads();
        copy<BK>(k, K + (head * S + key0) * D, S - key0);
        copy<BK>(v, V + (head * S + key0) * D, S - key0);
        __syncthreads();

        float sum[BK / 8][4] = {};
#pragma unroll 1  // unrolled, what the compiler loads ahead takes more registers than there are
        for (int half = 0; half < 2; ++half)
#pragma unroll
            for (int piece = 0; piece < 8; piece += 2) {
                unsigned a[4], b[4];
                load_matrices(a, &q[place(row0 + lane % 16, half, piece + lane / 16)]);
#pragma unroll
                for (int n = 0; n < BK / 8; n += 2) {
                    load_matrices(b, &k[place(n * 8 + lane % 16, half, piece + lane / 16)]);
                    multiply(sum[n], a, b[0], b[2]);
                    multiply(sum[n + 1], a, b[1], b[3]);
                }
            }
        if ((GUARD && key0 + BK > S) || (CAUSAL && key0 + BK > query0 + row0))
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int seen = (CAUSAL ? min(S, query0 + line + half * 8 + 1) : S) - key0 - pair;
#pragma unroll
                for (int n = 0; n < BK / 8; ++n)
#pragma unroll
                    for (int j = 0; j < 2; ++j)
                        if (n * 8 + j >= seen) sum[n][half * 2 + j] = MINUS_INFINITY;
            }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float here = top[half];
#pragma unroll
            for (int n = 0; n < BK / 8; ++n) here = fmaxf(here, fmaxf(sum[n][half * 2], sum[n][half * 2 + 1]));
            here = fmaxf(here, __shfl_xor_sync(0xffffffffu, here, 1));
            here = fmaxf(here, __shfl_xor_sync(0xffffffffu, here, 2));
            const float shrink = power_of_two((top[half] - here) * LOG2_SCALE), offset = here * LOG2_SCALE;
            top[half] = here;
            total[half] *= shrink;
#pragma unroll
            for (int n = 0; n < BK / 8; ++n)
#pragma unroll
                for (int j = 0; j < 2; ++j) {
                    float& x = sum[n][half * 2 + j];
                    total[half] += x = power_of_two(x * LOG2_SCALE - offset);
                }
#pragma unroll
            for (int n = 0; n < D / 8; ++n) out[n][half * 2] *= shrink, out[n][half * 2 + 1] *= shrink;
        }
        // the scores of one product lie over the lanes just as the next one wants its left side
        unsigned p[BK / 16][4];
#pragma unroll
        for (int n = 0; n < BK / 8; ++n)
            p[n / 2][n % 2 * 2] = narrow(sum[n][0], sum[n][1]), p[n / 2][n % 2 * 2 + 1] = narrow(sum[n][2], sum[n][3]);
#pragma unroll
        for (int n = 0; n < BK / 8; n += 2) {
#pragma unroll
            for (int d = 0; d < D / 8; d += 2) {
                unsigned b[4];
                load_transposed(b, &v[place(n * 8 + lane % 16, d / 8, d % 8 + lane / 16)]);
                multiply(out[d], p[n / 2], b[0], b[1]);
                multiply(out[d + 1], p[n / 2], b[2], b[3]);
            }
        }
    }

    O += (head * S + query0) * D;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float sum = total[half];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        const float share = 1.0f / sum;
        const int row = line + half * 8;
        if (INSIDE(query0 + row < S))
#pragma unroll
            for (int n = 0; n < D / 8; ++n)
                *reinterpret_cast<unsigned*>(&O[row * D + n * 8 + pair]) =
                    narrow(out[n][half * 2] * share, out[n][half * 2 + 1] * share);
    }
}
