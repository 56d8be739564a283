// int4 for sixteen vectors: each code is unpacked once and multiplied by sixteen values of x.
// The change: the columns of the tensor cores' products, of which one vector fills one in eight, are sixteen vectors; a block's
// warps work on the same groups at the same time and share these vectors' values in shared memory.
// Why it helps: the weights are read once for sixteen results, at the rate of device memory.
//
// Y (16 x rows, fp32) = W times each row of X (16 x groups * 128, fp16, filled up with zeros), where W[row][col] =
// scales[row][col / 128] * (code - 8). Of the eight weights of a word, number i lies in bits 4 (i / 2) + 16 (i % 2) and up. W and
// scales lie in blocks of 16 rows x 1 group, rows filled up to 16 and to whole groups.
// TILES of 16 rows a warp, WARPS a block, SPLIT of which share the groups of the same rows; STAGES (3 or more); grid: units of
// TILES * WARPS / SPLIT tiles. STAGES * (WARPS * TILES * 1056 + SPLIT * 4096) bytes of dynamic shared memory.

#define GROUP 128
#define VECTORS 16
#define ROWS (16 * TILES)
#define SCALES (TILES * 1024)
#define OWN (SCALES + TILES * 32)  // bytes of a stage that one warp fills for itself
#define SHARED_X (VECTORS * GROUP * 2)
#define STAGE (WARPS * OWN + SPLIT * SHARED_X)
#define PEERS (WARPS / SPLIT * 32)  // threads that share x

typedef unsigned short half;  // the bits of an fp16 number

__device__ __forceinline__ void send(unsigned to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void sent() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ __forceinline__ uint4 read(unsigned from) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(from));
    return v;
}
__device__ __forceinline__ float read_half(unsigned from) {
    half bits;
    float v;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(bits) : "r"(from));
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
    return v;
}

// Two fp16 numbers in a word: a - b, and a * b + c.
__device__ __forceinline__ unsigned minus(unsigned a, unsigned b) {
    unsigned d;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
__device__ __forceinline__ unsigned multiply_add(unsigned a, unsigned b, unsigned c) {
    unsigned d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
// Weights 2i and 2i + 1 of a word over 2^24 times their scale: a code in the lowest bits of an fp16 is so many times 2^-24.
__device__ __forceinline__ unsigned pair(unsigned word, int i) {
    const unsigned bits = i < 2 ? word : word >> 8;
    if (i % 2 == 0) return minus(bits & 0x000f000fu, 0x00080008u);                // n - 8
    return multiply_add(bits & 0x00f000f0u, 0x2c002c00u, 0x80088008u);  // 16 n / 16 - 8
}

// c (16 x 8) += a (16 x 16) times b (16 x 8), spread over the lanes as PTX lays down for m16n8k16.
__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(WARPS * 32) gemv_int4_batch(
    const uint4* codes, const half* scales, const half* x, float* y, int rows, int cols) {
    extern __shared__ __align__(128) char shared[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, slice = warp / (WARPS / SPLIT), peer = threadIdx.x % PEERS;
    const int upper = lane / 4, piece = lane % 4;  // rows `upper` and `upper` + 8 of a tile, and a vector; which 32 of a group
    const int groups = (cols + GROUP - 1) / GROUP, tiles = (rows + 15) / 16, steps = (groups + SPLIT - 1) / SPLIT;
    const int tile0 = (blockIdx.x * (WARPS / SPLIT) + warp % (WARPS / SPLIT)) * TILES;
    const unsigned base = (unsigned)__cvta_generic_to_shared(shared), own = warp * OWN, vectors = WARPS * OWN + slice * SHARED_X;

    int next = 0;
    unsigned put = base, get = base;
    const auto fetch = [&] {
        const int group = next * SPLIT + slice;
        if (group < groups) {
#pragma unroll
            for (int t = 0; t < TILES; ++t) {
                const long long block = (long long)min(tile0 + t, tiles - 1) * groups + group;
                send(put + own + t * 1024 + lane * 16, codes + block * 64 + lane);
                send(put + own + t * 1024 + 512 + lane * 16, codes + block * 64 + 32 + lane);
                if (lane / 2 == t) send(put + own + SCALES + lane * 16, scales + block * 16 + lane % 2 * 8);
            }
            // eight neighbours of a vector; what eight lanes read together lies in eight different places of 16 bytes
#pragma unroll
            for (int i = 0; i < VECTORS * 16; i += PEERS) {
                const int vector = (i + peer) / 16, eight = (i + peer) % 16, place = (eight % 4 * 4 + eight / 4) ^ vector % 2 * 4;
                if (PEERS <= VECTORS * 16 || peer < VECTORS * 16)
                    send(put + vectors + vector * (GROUP * 2) + place * 16, x + ((long long)vector * groups + group) * GROUP + eight * 8);
            }
        }
        ++next;
        sent();
        if ((put += STAGE) == base + STAGES * STAGE) put = base;
    };
    for (int i = 0; i < STAGES - 1; ++i) fetch();

    float sum[TILES][2][4] = {};
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        fetch();
        if (step * SPLIT + slice < groups) {
            unsigned v[2][16];
#pragma unroll
            for (int n = 0; n < 2; ++n)
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const uint4 eight = read(get + vectors + (n * 8 + upper) * (GROUP * 2) + ((j * 4 + piece) ^ upper % 2 * 4) * 16);
                    v[n][4 * j] = eight.x, v[n][4 * j + 1] = eight.y, v[n][4 * j + 2] = eight.z, v[n][4 * j + 3] = eight.w;
                }
#pragma unroll
            for (int t = 0; t < TILES; ++t) {
                float c[2][4] = {};
                const uint4 a = read(get + own + t * 1024 + lane * 16), b = read(get + own + t * 1024 + 512 + lane * 16);
                const unsigned above[4] = {a.x, a.y, a.z, a.w}, below[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
                for (int j = 0; j < 4; ++j)
#pragma unroll
                    for (int i = 0; i < 4; i += 2) {
                        const unsigned w[4] = {pair(above[j], i), pair(below[j], i), pair(above[j], i + 1), pair(below[j], i + 1)};
#pragma unroll
                        for (int n = 0; n < 2; ++n) mma(c[n], w, v[n][4 * j + i], v[n][4 * j + i + 1]);
                    }
                const float scale[2] = {read_half(get + own + SCALES + t * 32 + upper * 2), read_half(get + own + SCALES + t * 32 + 16 + upper * 2)};
#pragma unroll
                for (int n = 0; n < 2; ++n)
#pragma unroll
                    for (int i = 0; i < 4; ++i) sum[t][n][i] += scale[i / 2] * c[n][i];
            }
        }
        if ((get += STAGE) == base + STAGES * STAGE) get = base;
    }

    // The warps that share rows add up: each slice but the first leaves its sums to the first.
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    float* part = reinterpret_cast<float*>(shared);
    for (int other = 1; other < SPLIT; ++other) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILES * 8; ++i) {
            float& mine = sum[i / 8][i / 4 % 2][i % 4];
            if (slice == other) part[i * PEERS + peer] = mine;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILES * 8; ++i)
            if (slice == 0) sum[i / 8][i / 4 % 2][i % 4] += part[i * PEERS + peer];
    }
    if (slice == 0)
#pragma unroll
        for (int t = 0; t < TILES; ++t)
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const int row = (tile0 + t) * 16 + upper + i % 4 / 2 * 8, vector = i / 4 * 8 + piece * 2 + i % 2;
                if (row < rows) y[(long long)vector * rows + row] = sum[t][i / 4][i % 4] * 16777216.0f;
            }
}
