// Warpgroups: four warps multiply together, straight out of shared memory, while a fifth sends for the tiles.
// The change: 64 x BK scores are one wgmma of four warps for every 16 dimensions, with Q and K read from shared memory and the
// sums in registers; the weights go from there into the next wgmma as its left side, with V as it lies in shared memory. Whole
// tiles come by TMA, a box at a time, in STAGES, asked for by one thread of a warpgroup of its own, which gives its registers to
// the others. mbarriers tell when a tile is full and when it may be filled again.
// Why it helps: wgmma alone reaches the full rate of the tensor cores; no fragment is loaded by hand; no thread that multiplies
// works out an address or waits for a copy that it has started itself.
// Two more rungs are this source with other constants:
// 07, PING_PONG and AHEAD: the two warpgroups take turns at the tensor cores, so that one works out exponentials while the other
//     multiplies; and the next scores are under way before these weights are used, so that a warpgroup's own exponentials are
//     hidden, too. (Both after Shah et al., FlashAttention-3, 2024.)
// 08, a grid of as many blocks as there are SMs, ROOMS 2 for queries, and STORES: a block goes from one tile of queries to the
//     next, whose Q, K and V are on their way by then; outputs leave through the room of the queries that they belong to.
//
// O (heads x S x 128) = softmax(Q K^T / sqrt(128)) V, row-major bf16, sums in fp32. CAUSAL 1: a query sees no later key. Any S.
// Q, K, V are tensor maps of 128 x S x heads bf16 values with boxes of 64 x BQ x 1 and 64 x BK x 1, 128-byte swizzle, zero
// outside; with STORES O is one, too, with boxes of 64 x 64 x 1. GROUPS warpgroups of 64 queries and one that sends; BK keys at
// a time; grid (any size): a block takes tile of queries after tile, those of `together` heads at the same time. Dynamic shared
// memory: (ROOMS * BQ + 2 * STAGES * BK) * 256 + 1024 bytes.

#define D 128
#define BQ (GROUPS * 64)
#define THREADS (GROUPS * 128 + 128)
#define HALF(rows) ((rows) * 128)  // bytes of 64 dimensions of a tile: a row of 128 bytes is what the swizzle works on
#define TILE(rows) (2 * HALF(rows))
#define MINUS_INFINITY __int_as_float(0xff800000)
#define LOG2_SCALE 0.12751744f  // log2(e) / sqrt(128): exp(x / sqrt(128)) is two to this times x
#define TURN 1                  // named barriers: TURN + n is the turn of warpgroup n
#define AMONG (TURN + 2)        // AMONG + n is for warpgroup n alone

#if RUNG == 6  // under other names, so that a profiler tells the rungs apart
#define ENTRY attention_warpgroups
#elif RUNG == 7
#define ENTRY attention_ahead
#else
#define ENTRY attention_persistent
#endif

struct __align__(64) TensorMap {
    unsigned long long words[16];
};

// Lists of registers for wgmma, eight at a time.
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define N0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define N8 "%8, %9, %10, %11, %12, %13, %14, %15"
#define N16 "%16, %17, %18, %19, %20, %21, %22, %23"
#define N24 "%24, %25, %26, %27, %28, %29, %30, %31"
#define N32 "%32, %33, %34, %35, %36, %37, %38, %39"
#define N40 "%40, %41, %42, %43, %44, %45, %46, %47"
#define N48 "%48, %49, %50, %51, %52, %53, %54, %55"
#define N56 "%56, %57, %58, %59, %60, %61, %62, %63"
#define N64 "%64, %65, %66, %67, %68, %69, %70, %71"
#define N72 "%72, %73, %74, %75, %76, %77, %78, %79"
#define N80 "%80, %81, %82, %83, %84, %85, %86, %87"
#define R8(x, i) \
    "+f"(x[i]), "+f"(x[i + 1]), "+f"(x[i + 2]), "+f"(x[i + 3]), "+f"(x[i + 4]), "+f"(x[i + 5]), "+f"(x[i + 6]), "+f"(x[i + 7])
#define NAMES_32 N0 ", " N8 ", " N16 ", " N24
#define NAMES_64 NAMES_32 ", " N32 ", " N40 ", " N48 ", " N56
#define REGISTERS_32(x) R8(x, 0), R8(x, 8), R8(x, 16), R8(x, 24)
#define REGISTERS_64(x) REGISTERS_32(x), R8(x, 32), R8(x, 40), R8(x, 48), R8(x, 56)
#if BK == 64
#define NAMES NAMES_32
#define REGISTERS REGISTERS_32
#define OPERANDS "%32, %33"
#define MORE "%34"
#elif BK == 128
#define NAMES NAMES_64
#define REGISTERS REGISTERS_64
#define OPERANDS "%64, %65"
#define MORE "%66"
#elif BK == 160
#define NAMES NAMES_64 ", " N64 ", " N72
#define REGISTERS(x) REGISTERS_64(x), R8(x, 64), R8(x, 72)
#define OPERANDS "%80, %81"
#define MORE "%82"
#elif BK == 176
#define NAMES NAMES_64 ", " N64 ", " N72 ", " N80
#define REGISTERS(x) REGISTERS_64(x), R8(x, 64), R8(x, 72), R8(x, 80)
#define OPERANDS "%88, %89"
#define MORE "%90"
#endif

// s (64 x BK, spread over a warpgroup as PTX lays down for wgmma) = or += 64 x 16 of Q times BK x 16 of K, transposed.
__device__ __forceinline__ void multiply_scores(float (&s)[BK / 2], unsigned long long q, unsigned long long k, bool add) {
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " MORE ", 0;\nwgmma.mma_async.sync.aligned.m64n" TEXT(BK)
                 "k16.f32.bf16.bf16 {" NAMES "}, " OPERANDS ", add, 1, 1, 0, 0;\n}"
                 : REGISTERS(s)
                 : "l"(q), "l"(k), "r"((int)add));
}

// out (64 x 128) += 64 x 16 weights, in registers, times 16 x 128 of V, whose columns lie next to each other.
__device__ __forceinline__ void multiply_values(float (&out)[64], const unsigned* p, unsigned long long v) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" NAMES_64 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
                 : REGISTERS_64(out)
                 : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "l"(v));
}

__device__ __forceinline__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT>
__device__ __forceinline__ void finish() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}
// No use of these registers moves across this point.
template <class T, int N>
__device__ __forceinline__ void hold(T (&x)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
        if constexpr (T(0.5f) != T(0)) {
            asm volatile("" : "+f"(x[i])::"memory");
        } else {
            asm volatile("" : "+r"(x[i])::"memory");
        }
    }
}

// A matrix in shared memory as wgmma wants to have it told: eight rows of 128 bytes, swizzled, are 1024 bytes, and the next
// eight follow. `leading` is the way from 64 columns to the next 64 where columns lie next to each other, else unused.
__device__ __forceinline__ unsigned long long describe(unsigned address, unsigned leading) {
    return (1ull << 62) | ((unsigned long long)(1024 >> 4) << 32) | ((unsigned long long)(leading >> 4) << 16) | (address >> 4);
}

__device__ __forceinline__ void prepare(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void expect(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
    asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}"
                 ::"r"(barrier), "r"(parity) : "memory");
}

// A tile on its way into shared memory, 64 dimensions after the other 64, from row `row` of a head on.
template <int ROWS>
__device__ __forceinline__ void send(unsigned to, const TensorMap* map, int row, int head, unsigned barrier) {
    expect(barrier, TILE(ROWS));
#pragma unroll
    for (int half = 0; half < 2; ++half)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                     ::"r"(to + half * HALF(ROWS)), "l"(map), "r"(half * 64), "r"(row), "r"(head), "r"(barrier) : "memory");
}

// A warpgroup's turn at the tensor cores: it waits for the other to pass it on.
__device__ __forceinline__ void take_turn(int group) {
    if (PING_PONG) asm volatile("bar.sync %0, 256;" ::"r"(TURN + group) : "memory");
}
__device__ __forceinline__ void pass_turn(int group) {
    if (PING_PONG) asm volatile("bar.arrive %0, 256;" ::"r"(TURN + 1 - group) : "memory");
}

__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// Two fp32 values rounded to bf16.
__device__ __forceinline__ unsigned narrow(float low, float high) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

// A place in a ring of COUNT and whether it has been round an odd number of times.
template <int COUNT>
struct Place {
    int stage = 0;
    unsigned parity = 0;
    __device__ __forceinline__ void next() {
        if (++stage == COUNT) stage = 0, parity ^= 1;
    }
};

// Scores to weights, in place; `seen` keys of this tile count for each of a thread's two rows. Gives the factor by which
// whatever was added up before shrinks.
__device__ __forceinline__ void weigh(bool masked, float (&s)[BK / 2], float (&top)[2], float (&total)[2], float (&shrink)[2], int seen) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        if (masked)
#pragma unroll
            for (int n = 0; n < BK / 8; ++n)
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    if (n * 8 + j >= seen + (CAUSAL ? half * 8 : 0)) s[n * 4 + half * 2 + j] = MINUS_INFINITY;
        float x = top[half], y = MINUS_INFINITY;
#pragma unroll
        for (int n = 0; n < BK / 8; ++n) x = fmaxf(x, s[n * 4 + half * 2]), y = fmaxf(y, s[n * 4 + half * 2 + 1]);
        x = fmaxf(x, y);
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
        const float offset = masked && x == MINUS_INFINITY ? 0.0f : x * LOG2_SCALE;  // a row that has seen no key yet
        shrink[half] = power_of_two(top[half] * LOG2_SCALE - offset);
        top[half] = x;
        x = 0.0f, y = 0.0f;
#pragma unroll
        for (int n = 0; n < BK / 8; ++n) {
            x += s[n * 4 + half * 2] = power_of_two(s[n * 4 + half * 2] * LOG2_SCALE - offset);
            y += s[n * 4 + half * 2 + 1] = power_of_two(s[n * 4 + half * 2 + 1] * LOG2_SCALE - offset);
        }
        total[half] = total[half] * shrink[half] + (x + y);
    }
}

#if STORES
// Round 64 x 128 outputs into the room of the queries that they belong to, 64 columns after the other 64, and send them off.
__device__ __forceinline__ void send_off(const float (&out)[64], const float (&share)[2], unsigned to, const TensorMap* map, int row,
                                         int head, int group) {
    const int line = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 16;
#pragma unroll
    for (int n = 0; n < D / 8; n += 2) {
        const int piece = n % 8 + threadIdx.x % 32 / 16;
        const float* x = &out[n * 4];
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                         to + n / 8 * HALF(BQ) + line * 128 + (piece ^ line % 8) * 16),
                     "r"(narrow(x[0] * share[0], x[1] * share[0])), "r"(narrow(x[2] * share[1], x[3] * share[1])),
                     "r"(narrow(x[4] * share[0], x[5] * share[0])), "r"(narrow(x[6] * share[1], x[7] * share[1]))
                     : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(AMONG + group) : "memory");
    if (threadIdx.x % 128 == 0) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
            asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map),
                         "r"(half * 64), "r"(row), "r"(head), "r"(to + half * HALF(BQ))
                         : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1) ENTRY(
    const __grid_constant__ TensorMap Q, const __grid_constant__ TensorMap K, const __grid_constant__ TensorMap V,
#if STORES
    const __grid_constant__ TensorMap O,
#else
    unsigned short* O,
#endif
    int S, int heads, int together) {
    extern __shared__ char shared[];
    __shared__ unsigned long long barriers[2 * ROOMS + 4 * STAGES];
    const unsigned q = ((unsigned)__cvta_generic_to_shared(shared) + 1023) / 1024 * 1024;  // as the swizzle counts rows
    const unsigned k = q + ROOMS * TILE(BQ), v = k + STAGES * TILE(BK);
    const unsigned q_full = (unsigned)__cvta_generic_to_shared(barriers), q_empty = q_full + ROOMS * 8;
    const unsigned k_full = q_empty + ROOMS * 8, v_full = k_full + STAGES * 8;
    const unsigned k_empty = v_full + STAGES * 8, v_empty = k_empty + STAGES * 8;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    const int rows = (S + BQ - 1) / BQ, items = rows * heads;

    if (threadIdx.x == 0) {
        for (int i = 0; i < ROOMS; ++i) prepare(q_full + i * 8, 1), prepare(q_empty + i * 8, GROUPS * (STORES ? 1 : 4));
        for (int i = 0; i < STAGES; ++i) {
            prepare(k_full + i * 8, 1), prepare(v_full + i * 8, 1);
            prepare(k_empty + i * 8, GROUPS * 4), prepare(v_empty + i * 8, GROUPS * 4);
        }
        asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();

    // a block's rounds go to and fro over the items, so that no block gets the longest of every round
    const auto item_of = [&](int round) { return int(round * gridDim.x + (round % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x)); };
    // the heads that go `together` share L2; of their rows of tiles the longest come first
    const auto place = [&](int item, int& head, int& query0) {
        const int first = item / (together * rows) * together, count = min(together, heads - first), at = item - first * rows;
        head = first + at % count;
        query0 = (CAUSAL ? rows - 1 - at / count : at / count) * BQ;
    };
    const auto tiles_of = [&](int query0) { return ((CAUSAL ? min(S, query0 + BQ) : S) + BK - 1) / BK; };

    if (warp < 4) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == 0) {
            Place<STAGES> at;
            Place<ROOMS> room;
#pragma unroll 1
            for (int round = 0; item_of(round) < items; ++round, room.next()) {
                int head, query0;
                place(item_of(round), head, query0);
                wait(q_empty + room.stage * 8, room.parity ^ 1);
                send<BQ>(q + room.stage * TILE(BQ), &Q, query0, head, q_full + room.stage * 8);
#pragma unroll 1
                for (int tile = tiles_of(query0) - 1; tile >= 0; --tile, at.next()) {
                    wait(k_empty + at.stage * 8, at.parity ^ 1);
                    send<BK>(k + at.stage * TILE(BK), &K, tile * BK, head, k_full + at.stage * 8);
                    wait(v_empty + at.stage * 8, at.parity ^ 1);
                    send<BK>(v + at.stage * TILE(BK), &V, tile * BK, head, v_full + at.stage * 8);
                }
            }
        }
    } else {
#if GROUPS == 2
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
#else
        asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
#endif
        const int group = warp / 4 - 1, lane = threadIdx.x % 32;
        // a lane holds columns `pair` and `pair` + 1 of every 8, of row `line` and of the row eight below
        const int line = warp % 4 * 16 + lane / 4, pair = lane % 4 * 2;
        const unsigned long long k_matrix = describe(k, 0), v_matrix = describe(v, HALF(BK));
        float out[64], s[BK / 2], top[2], total[2], shrink[2];
        unsigned p[BK / 4];
        Place<STAGES> at;
        Place<ROOMS> room;

        const auto scores = [&] {
            const unsigned long long q_matrix = describe(q + room.stage * TILE(BQ) + group * HALF(64), 0);
            const unsigned long long matrix = k_matrix + at.stage * (TILE(BK) >> 4);
            begin();
#pragma unroll
            for (int d = 0; d < D / 16; ++d)
                multiply_scores(s, q_matrix + d / 4 * (HALF(BQ) >> 4) + d % 4 * 2, matrix + d / 4 * (HALF(BK) >> 4) + d % 4 * 2, d > 0);
            commit();
        };
        const auto values = [&](int stage) {
            const unsigned long long matrix = v_matrix + stage * (TILE(BK) >> 4);
            begin();
#pragma unroll
            for (int n = 0; n < BK / 16; ++n) multiply_values(out, p + n * 4, matrix + n * (16 * 128 >> 4));
            commit();
        };
        const auto release = [&](unsigned barrier) {
            if (lane == 0) arrive(barrier);
        };
        // the scores of one product lie over the lanes just as the next one wants its left side
        const auto pack = [&] {
#pragma unroll
            for (int i = 0; i < BK / 4; ++i) p[i] = narrow(s[2 * i], s[2 * i + 1]);
        };

        if (PING_PONG && group == 1) pass_turn(1);
#pragma unroll 1
        for (int round = 0; item_of(round) < items; ++round) {
            int head, query0;
            place(item_of(round), head, query0);
            const int query = query0 + group * 64 + line;
            const auto seen = [&](int tile) { return (CAUSAL ? min(S, query + 1) : S) - tile * BK - pair; };
            int tile = tiles_of(query0) - 1;
#pragma unroll
            for (int i = 0; i < 64; ++i) out[i] = 0.0f;
            top[0] = top[1] = MINUS_INFINITY, total[0] = total[1] = 0.0f;

            wait(q_full + room.stage * 8, room.parity);
            wait(k_full + at.stage * 8, at.parity);
            take_turn(group);
            scores();
            pass_turn(group);
#if STORES && ROOMS > 1
            if (round > 0 && threadIdx.x % 128 == 0) {  // the outputs before have left the room of their queries
                asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
                arrive(q_empty + (room.stage ^ 1) * 8);
            }
#endif
            finish<0>();
            hold(s);
            release(k_empty + at.stage * 8);
            weigh(true, s, top, total, shrink, seen(tile));
            pack();
            const auto step = [&](bool masked) {
                const Place<STAGES> before = at;
                at.next();
                wait(k_full + at.stage * 8, at.parity);
#if AHEAD
                hold(p);
                take_turn(group);
                scores();
                wait(v_full + before.stage * 8, before.parity);
                values(before.stage);
                pass_turn(group);
                finish<1>();
                hold(s);
                release(k_empty + at.stage * 8);
                weigh(masked, s, top, total, shrink, seen(tile));
                finish<0>();
                release(v_empty + before.stage * 8);
#else
                wait(v_full + before.stage * 8, before.parity);
                take_turn(group);
                values(before.stage);
                scores();
                pass_turn(group);
                finish<0>();
                hold(s);
                release(v_empty + before.stage * 8);
                release(k_empty + at.stage * 8);
                weigh(masked, s, top, total, shrink, seen(tile));
#endif
                hold(out);
                hold(s);
                hold(p);
#pragma unroll
                for (int i = 0; i < 64; ++i) out[i] *= shrink[i / 2 % 2];
                pack();
            };
            --tile;
#if CAUSAL && BK != BQ
            for (; tile >= 0 && (tile + 1) * BK > query0 + 1; --tile) step(true);  // tiles on the diagonal
#endif
            for (; tile >= 0; --tile) step(false);
            wait(v_full + at.stage * 8, at.parity);
            hold(p);
            values(at.stage);
            finish<0>();
            hold(out);
            release(v_empty + at.stage * 8);
            at.next();

            float share[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float sum = total[half];
                sum += __shfl_xor_sync(0xffffffffu, sum, 1);
                sum += __shfl_xor_sync(0xffffffffu, sum, 2);
                share[half] = 1.0f / sum;
            }
#if STORES
            send_off(out, share, q + room.stage * TILE(BQ) + group * HALF(64), &O, query0 + group * 64, head, group);
#if ROOMS == 1
            if (threadIdx.x % 128 == 0) {
                asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
                arrive(q_empty);
            }
#endif
#else
            release(q_empty + room.stage * 8);
            unsigned short* to = O + ((long long)head * S + query) * D + pair;
#pragma unroll
            for (int half = 0; half < 2; ++half)
                if (query + half * 8 < S)
#pragma unroll
                    for (int n = 0; n < D / 8; ++n)
                        *reinterpret_cast<unsigned*>(&to[half * 8 * D + n * 8]) =
                            narrow(out[n * 4 + half * 2] * share[half], out[n * 4 + half * 2 + 1] * share[half]);
#endif
            room.next();
        }
#if STORES
        if (threadIdx.x % 128 == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
    }
}
