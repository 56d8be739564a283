// The part of a GPU that the kernels use, on a CPU: threads of a block as fibres, warp-wide instructions, asynchronous copies.
// What each instruction does, and which lane holds which value, is after the PTX ISA, not after the kernels.

#include <cstring>
#include <tuple>
#include <ucontext.h>
#include <utility>
#include <vector>

struct uint3 {
    unsigned x, y, z;
};
static uint3 threadIdx, blockIdx, blockDim, gridDim;
alignas(1024) static unsigned char dynamic_shared[228 * 1024];

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __syncthreads() wait_for_block()
// static arrays of the library lie within 2 GiB of it, before or behind
#define __cvta_generic_to_shared(p) ((unsigned)((unsigned char*)(p) - dynamic_shared))
static unsigned char* at_shared(unsigned address) { return dynamic_shared + (int)address; }
static int min(int a, int b) { return a < b ? a : b; }
static int max(int a, int b) { return a > b ? a : b; }

struct Copy {
    unsigned to;
    const void* from;
    int bytes;
};

// One exchange of a warp: every lane lays down its operands, the last one to come works out all results.
struct Exchange {
    unsigned in[32][16];
    float c[32][4];
    unsigned out[32][4];
    int come = 0;
    unsigned turn = 0;
};

struct Fibre {
    ucontext_t context;
    std::vector<char> stack;
    uint3 thread;
    unsigned lane, warp;
    bool done;
    const unsigned* waits_for;  // it goes on once this counter has left `seen`
    unsigned seen;
    std::vector<std::vector<Copy>> groups;  // committed, not yet arrived
    std::vector<Copy> open;
};

static ucontext_t scheduler;
static Fibre* running;
static std::vector<Exchange> exchanges;
static unsigned block_turn, block_come, block_size;
static bool late;

static void wait(const unsigned& counter, unsigned seen) {
    running->waits_for = &counter;
    running->seen = seen;
    swapcontext(&running->context, &scheduler);
}

static void wait_for_block() {
    const unsigned seen = block_turn;
    if (++block_come == block_size) {
        block_come = 0;
        ++block_turn;
    } else
        wait(block_turn, seen);
}

template <class Work>
static Exchange& with_warp(Work work) {
    Exchange& x = exchanges[running->warp];
    const unsigned seen = x.turn;
    if (++x.come == 32) {
        x.come = 0;
        work(x);
        ++x.turn;
    } else
        wait(x.turn, seen);
    return x;
}

// A lane reads its result before it can come to the next exchange, but another lane may be there first: results are kept apart
// from operands, and an exchange that begins anew overwrites results only when all 32 lanes have come, hence have read.

// Special registers: one SM, whose clock goes on whenever it is read.
static void ptx_mov_u32(unsigned& value, const char* name) { value = 0; }
static long long clock64() {
    static long long clock;
    return ++clock;
}

static float from_bf16(unsigned bits) {
    bits <<= 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

static unsigned to_bf16(float value) {  // to nearest, ties to even
    unsigned bits;
    std::memcpy(&bits, &value, 4);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static void ptx_cvt_rn_bf16x2_f32(unsigned& d, float upper, float lower) { d = to_bf16(upper) << 16 | to_bf16(lower); }

// The 8 x 8 matrix j has its rows at the addresses of lanes 8 j ... 8 j + 7; lane l gets row l / 4, columns l % 4 * 2 and the next,
// of the matrix or of its transpose, in register j.
static void ldmatrix(unsigned& r0, unsigned& r1, unsigned& r2, unsigned& r3, unsigned address, bool transposed) {
    const unsigned lane = running->lane;
    exchanges[running->warp].in[lane][0] = address;
    Exchange& x = with_warp([=](Exchange& x) {
        for (int j = 0; j < 4; ++j)
            for (int l = 0; l < 32; ++l) {
                unsigned short pair[2];
                for (int e = 0; e < 2; ++e) {
                    const int row = transposed ? l % 4 * 2 + e : l / 4, column = transposed ? l / 4 : l % 4 * 2 + e;
                    std::memcpy(&pair[e], at_shared(x.in[8 * j + row][0]) + column * 2, 2);
                }
                x.out[l][j] = pair[0] | (unsigned)pair[1] << 16;
            }
    });
    r0 = x.out[lane][0], r1 = x.out[lane][1], r2 = x.out[lane][2], r3 = x.out[lane][3];
}
static void ptx_ldmatrix_sync_aligned_m8n8_x4_shared_b16(unsigned& r0, unsigned& r1, unsigned& r2, unsigned& r3, unsigned address) {
    ldmatrix(r0, r1, r2, r3, address, false);
}
static void ptx_ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(unsigned& r0, unsigned& r1, unsigned& r2, unsigned& r3,
                                                               unsigned address) {
    ldmatrix(r0, r1, r2, r3, address, true);
}

// D = A B + C. With g = lane / 4 and t = lane % 4, register i of A holds rows g (i even) or g + 8, columns 2 t, 2 t + 1 (i < 2) or
// 8 more; register i of B rows 2 t, 2 t + 1 or 8 more, column g; register i of C and D row g (i < 2) or g + 8, column 2 t + i % 2.
static void ptx_mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32(float& d0, float& d1, float& d2, float& d3, unsigned a0,
                                                                    unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                                                                    unsigned b1, float c0, float c1, float c2, float c3) {
    const unsigned lane = running->lane, operands[6] = {a0, a1, a2, a3, b0, b1};
    const float sums[4] = {c0, c1, c2, c3};
    Exchange& mine = exchanges[running->warp];
    std::memcpy(mine.in[lane], operands, sizeof operands);
    std::memcpy(mine.c[lane], sums, sizeof sums);
    Exchange& x = with_warp([](Exchange& x) {
        float a[16][16], b[16][8];
        for (int l = 0; l < 32; ++l)
            for (int e = 0; e < 2; ++e) {
                const int g = l / 4, t = l % 4;
                for (int i = 0; i < 4; ++i) a[g + i % 2 * 8][2 * t + e + i / 2 * 8] = from_bf16(x.in[l][i] >> 16 * e & 0xffff);
                for (int i = 0; i < 2; ++i) b[2 * t + e + i * 8][g] = from_bf16(x.in[l][4 + i] >> 16 * e & 0xffff);
            }
        for (int l = 0; l < 32; ++l)
            for (int i = 0; i < 4; ++i) {
                const int row = l / 4 + i / 2 * 8, column = l % 4 * 2 + i % 2;
                double sum = x.c[l][i];
                for (int k = 0; k < 16; ++k) sum += (double)a[row][k] * b[k][column];
                const float rounded = (float)sum;
                std::memcpy(&x.out[l][i], &rounded, 4);
            }
    });
    float result[4];
    std::memcpy(result, x.out[lane], sizeof result);
    d0 = result[0], d1 = result[1], d2 = result[2], d3 = result[3];
}

static void arrive(const Copy& copy) { std::memcpy(at_shared(copy.to), copy.from, copy.bytes); }

static void ptx_cp_async_cg_shared_global_L2_128B(unsigned to, const void* from, int bytes) {
    if (late)
        running->open.push_back({to, from, bytes});
    else
        arrive({to, from, bytes});
}
static void ptx_cp_async_commit_group() {
    running->groups.push_back(running->open);
    running->open.clear();
}
static void ptx_cp_async_wait_group(int newest) {
    auto& groups = running->groups;
    while ((int)groups.size() > newest) {
        for (const Copy& copy : groups.front()) arrive(copy);
        groups.erase(groups.begin());
    }
}

template <class... A, std::size_t... I>
static void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*(A*)arguments[I]...);
}
template <class... A>
static void call(void (*kernel)(A...), void** arguments) {
    call(kernel, arguments, std::index_sequence_for<A...>());
}

static void** arguments_of_launch;
static void body();

// Until nobody can go on: each warp runs as long as any of its lanes can, the warps in one order or the other.
static bool run_block(std::vector<Fibre>& fibres, bool last_first) {
    unsigned left = fibres.size();
    const unsigned warps = (fibres.size() + 31) / 32;
    for (bool moved = true; moved && left > 0;) {
        moved = false;
        for (unsigned turn = 0; turn < warps && !moved; ++turn) {
            const unsigned warp = last_first ? warps - 1 - turn : turn;
            for (bool again = true; again;) {
                again = false;
                for (unsigned t = warp * 32; t < fibres.size() && t < warp * 32 + 32; ++t) {
                    Fibre& f = fibres[t];
                    if (f.done || (f.waits_for && *f.waits_for == f.seen)) continue;
                    f.waits_for = nullptr;
                    threadIdx = f.thread;
                    running = &f;
                    swapcontext(&scheduler, &f.context);
                    left -= f.done;
                    again = moved = true;
                }
            }
        }
    }
    return left == 0;
}

static void enter() {
    body();
    running->done = true;
    swapcontext(&running->context, &scheduler);
}

extern "C" int launch(const unsigned* grid, const unsigned* block, void** arguments, int last_warp_first, int copies_arrive_late) {
    arguments_of_launch = arguments;
    late = copies_arrive_late;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    block_size = block[0] * block[1] * block[2];
    std::vector<Fibre> fibres(block_size);
    for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
        for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
            for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x) {
                std::memset(dynamic_shared, 0xff, sizeof dynamic_shared);
                block_turn = block_come = 0;
                exchanges.assign((block_size + 31) / 32, Exchange());
                for (unsigned t = 0; t < block_size; ++t) {
                    Fibre& f = fibres[t];
                    f.stack.resize(32768);
                    f.thread = {t % block[0], t / block[0] % block[1], t / (block[0] * block[1])};
                    f.lane = t % 32, f.warp = t / 32;
                    f.done = false, f.waits_for = nullptr;
                    f.groups.clear(), f.open.clear();
                    getcontext(&f.context);
                    f.context.uc_stack.ss_sp = f.stack.data();
                    f.context.uc_stack.ss_size = f.stack.size();
                    makecontext(&f.context, enter, 0);
                }
                if (!run_block(fibres, last_warp_first)) return 1;
            }
    return 0;
}

#define RUN(kernel) \
    static void body() { call(kernel, arguments_of_launch); }
