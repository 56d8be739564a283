// int4, streamed: the copy engine brings the weights, four KiB with one instruction, and every warp has several such pieces under way.
// The change: the weights lie in chunks of 64 rows x 1 group, codes and scales together, 4224 bytes that the copy engine brings
// into shared memory by itself. A warp owns a ring of SLOTS of them, which no other warp waits for; it keeps x of one group in
// registers for all rows of its block. Codes go to the tensor cores as they lie there, n * 2^-24 (four bits higher: sixteen
// times that, in sums of their own); that they are eight too large is made good by eight times the sum of x, once a group.
// Why it helps: what is under way takes neither registers nor load instructions, and hardly a memory instruction is left a weight.
//
// y (rows, fp32) = W times x (cols, fp16), where W[row][col] = scales[row][col / 128] * (code - 8); sums in fp32.
// A chunk: four tiles of 16 rows; in each, rows 0-7, then 8-15; of a row, four times four words; word j of piece p holds
// columns 32 j + 8 p and the seven after it: two each in bits 0, 8, 4 and 12 and up, the second one 16 bits higher. Then
// the scales: for each of eight rows those of tile 0, row and row + 8, of tile 1, ... Rows are filled up to 64, columns to whole groups.
// GUARD 1: any cols, x is fetched value by value; GUARD 0: cols is a multiple of 128.
// A block: CHUNKS chunks of rows, whose groups its WARPS share; grid: so many that they cover the rows. Dynamic shared memory:
// WARPS * (SLOTS * 4224 + 256) bytes.

#define GROUP 128
#define TILES (4 * CHUNKS)
#define ROWS (64 * CHUNKS)
#define CODES 4096
#define CHUNK (CODES + 128)
#define OWN (SLOTS * CHUNK + GROUP * 2)  // bytes of shared memory of a warp

typedef unsigned short half;  // the bits of an fp16 number
typedef unsigned long long u64;

__device__ __forceinline__ void create(unsigned barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(1) : "memory");
}
__device__ __forceinline__ void expect(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Wait for the end of the phase of this parity.
__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
    unsigned done;
    do {
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (!done);
}
// Send for neighbouring bytes: weights, which nobody will want again, or x.
__device__ __forceinline__ void stream(unsigned to, const void* from, int bytes, unsigned barrier, u64 policy) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
                 : "memory");
}
__device__ __forceinline__ void send(unsigned to, const void* from, int bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from),
                 "r"(bytes), "r"(barrier)
                 : "memory");
}
__device__ __forceinline__ uint4 read(unsigned from) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(from) : "memory");
    return v;
}
__device__ __forceinline__ float widen(unsigned bits) {
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"((half)bits));
    return v;
}

// d (16 x 8) = a (16 x 16) times b (16 x 8) + c, spread over the lanes as PTX lays down for m16n8k16.
__device__ __forceinline__ void mma(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1,
                                    const float (&c)[4]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, 1) gemv_int4_streamed(
    const char* weights, const half* x, float* y, int rows, int cols) {
    extern __shared__ __align__(128) char shared[];
    __shared__ __align__(8) u64 barriers[WARPS * (SLOTS + 1)];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int upper = lane / 4, piece = lane % 4;  // rows `upper` and `upper` + 8 of a tile; which quarter of 32 columns
    const int groups = (cols + GROUP - 1) / GROUP, blocks = (rows + 63) / 64;
    const unsigned ring = (unsigned)__cvta_generic_to_shared(shared) + warp * OWN, vector = ring + SLOTS * CHUNK;
    const unsigned full = (unsigned)__cvta_generic_to_shared(barriers) + warp * (SLOTS + 1) * 8, x_full = full + SLOTS * 8;
    u64 policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));

    if (lane == 0) {
        for (int i = 0; i <= SLOTS; ++i) create(full + i * 8);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncwarp();

    // What is sent for runs SLOTS chunks ahead of what is multiplied.
    int put_group = warp, put_chunk = 0, put = 0;
    const auto request = [&] {
        if (put_group >= groups) return;
        if (lane == 0) {
            const long long chunk = (long long)min((int)blockIdx.x * CHUNKS + put_chunk, blocks - 1) * groups + put_group;
            expect(full + put * 8, CHUNK);
            stream(ring + put * CHUNK, weights + chunk * CHUNK, CHUNK, full + put * 8, policy);
        }
        if (++put == SLOTS) put = 0;
        if (++put_chunk == CHUNKS) put_chunk = 0, put_group += WARPS;
    };
    const auto request_x = [&](int group) {
#if !GUARD
        if (lane == 0 && group < groups) expect(x_full, GROUP * 2), send(vector, x + group * GROUP, GROUP * 2, x_full);
#endif
    };
    request_x(warp);
    for (int i = 0; i < SLOTS; ++i) request();

    int get = 0;
    unsigned parity = 0, x_parity = 0;
    float sum[TILES][2] = {};
    for (int group = warp; group < groups; group += WARPS) {
        unsigned v[16];
#if GUARD
        for (int j = 0; j < 16; ++j) {
            const int col = group * GROUP + j / 4 * 32 + piece * 8 + j % 4 * 2;
            v[j] = (col < cols ? x[col] : 0u) | (col + 1 < cols ? x[col + 1] : 0u) << 16;
        }
#else
        wait(x_full, x_parity);
        x_parity ^= 1;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const uint4 eight = read(vector + (j * 4 + piece) * 16);
            v[4 * j] = eight.x, v[4 * j + 1] = eight.y, v[4 * j + 2] = eight.z, v[4 * j + 3] = eight.w;
        }
        __syncwarp();
        request_x(group + WARPS);
#endif
        float eights[4] = {};  // -8 * 2^-24 times the sum of x
#pragma unroll
        for (int i = 0; i < 16; i += 2) mma(eights, 0x80088008u, 0x80088008u, 0x80088008u, 0x80088008u, v[i], v[i + 1], eights);

#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
            wait(full + get * 8, parity);
            const unsigned at = ring + get * CHUNK;
            const uint4 pairs = read(at + CODES + upper * 16);
            const unsigned scales[4] = {pairs.x, pairs.y, pairs.z, pairs.w};
#pragma unroll
            for (int t = 0; t < 4; ++t) {
                const uint4 a = read(at + t * 1024 + lane * 16), b = read(at + t * 1024 + 512 + lane * 16);
                const unsigned above[4] = {a.x, a.y, a.z, a.w}, below[4] = {b.x, b.y, b.z, b.w};
                float low[4], high[4] = {};
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const unsigned m = 0x000f000fu, k = 0x00f000f0u, a8 = above[j] >> 8, b8 = below[j] >> 8;
                    mma(low, above[j] & m, below[j] & m, a8 & m, b8 & m, v[4 * j], v[4 * j + 1], j ? low : eights);
                    mma(high, above[j] & k, below[j] & k, a8 & k, b8 & k, v[4 * j + 2], v[4 * j + 3], high);
                }
                sum[4 * c + t][0] += widen(scales[t]) * (low[0] + high[0] * 0.0625f);
                sum[4 * c + t][1] += widen(scales[t] >> 16) * (low[2] + high[2] * 0.0625f);
            }
            __syncwarp();
            request();
            if (++get == SLOTS) get = 0, parity ^= 1;
        }
    }

    // The warps that share rows add up, where the rings were; every column of the products is the same one.
    __syncthreads();
    float* part = reinterpret_cast<float*>(shared);
    if (piece == 0)
#pragma unroll
        for (int t = 0; t < TILES; ++t) {
            part[warp * ROWS + t * 16 + upper] = sum[t][0];
            part[warp * ROWS + t * 16 + 8 + upper] = sum[t][1];
        }
    __syncthreads();
    for (int i = threadIdx.x; i < ROWS; i += WARPS * 32) {
        const int row = blockIdx.x * ROWS + i;
        float total = 0.0f;
        for (int w = 0; w < WARPS; ++w) total += part[w * ROWS + i];
        if (row < rows) y[row] = total * 16777216.0f;
    }
}
