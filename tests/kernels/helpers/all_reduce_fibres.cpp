// The all-reduces on a CPU: this file's two halves go before and behind the kernels' own sources. See test_all_reduce_host_run.py.

#include <ucontext.h>
#include <cstring>
#include <random>
#include <vector>
struct uint3 { unsigned x, y, z; };
static uint3 threadIdx, blockIdx, gridDim;
static ucontext_t scheduler, *running;
static unsigned long long now;
static void give_way() { swapcontext(running, &scheduler); }
struct Block { unsigned arrived = 0, generation = 0; };
static Block* block;
static void barrier() {
    Block* mine = block;
    const unsigned generation = mine->generation;
    if (++mine->arrived == THREADS) mine->arrived = 0, ++mine->generation;
    while (mine->generation == generation) give_way();
}
static float __uint_as_float(unsigned bits) { float f; memcpy(&f, &bits, 4); return f; }
static unsigned __float_as_uint(float f) { unsigned bits; memcpy(&bits, &f, 4); return bits; }
#define __global__
#define __device__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __syncthreads() barrier()
static unsigned load_acquire(const unsigned* p) { give_way(); return *p; }
static void store_release(unsigned* p, unsigned value) { *p = value; give_way(); }
static unsigned long long nanoseconds() { return now; }

// SOURCES

struct Fibre { ucontext_t context; std::vector<char> stack; uint3 thread; bool done; };
struct Rank { std::vector<Fibre> fibres; std::vector<Block> blocks; unsigned left = 0; int call = 0; };
static struct { Group group; unsigned long long count, patience; unsigned epoch; int together; } args;
static Rank ranks[RANKS];
static int rank;
static void (*entry)(Group, int, unsigned long long, unsigned, unsigned long long);
static void body(Fibre* f) {
    entry(args.group, args.together ? 0 : rank, args.count, args.epoch + 64 * ranks[rank].call, args.patience);
    f->done = true;
    swapcontext(&f->context, &scheduler);
}
static std::mt19937 draw;

// Runs all calls; returns how many ranks finished all of theirs. `data` and `results` are [call][rank][room] bytes.
extern "C" int run(int which, char** in, char** out, unsigned** signals, unsigned** failed, const char* data, char* results, long room,
                   unsigned long long count, int blocks, int calls, unsigned epoch, unsigned long long patience, int together,
                   int favoured, int missing, long budget) {
    for (int r = 0; r < RANKS; ++r) {
        args.group.in[r] = (const Pack*)in[r], args.group.out[r] = (Pack*)out[r];
        args.group.signals[r] = signals[r], args.group.failed[r] = failed[r];
        ranks[r] = Rank();
    }
    args.count = count, args.patience = patience, args.epoch = epoch, args.together = together;
    gridDim = {(unsigned)blocks, together ? RANKS : 1u, 1};
    void (*entries[])(Group, int, unsigned long long, unsigned, unsigned long long) = {ENTRIES};
    entry = entries[which];
    draw.seed(count);
    int finished = 0;
    for (now = 0; finished < RANKS - (missing >= 0) && (long)now < budget; ++now) {
        rank = favoured >= 0 && draw() % 16 ? favoured : draw() % RANKS;
        Rank& self = ranks[rank];
        if (rank == missing || self.call == calls) {
            if (rank == favoured) favoured = -1;
            continue;
        }
        if (self.left == 0) {  // the stream copies new data in, poisons the output and launches
            memcpy(in[rank], data + (self.call * RANKS + rank) * room, room);
            memset(out[rank], 0xff, room);
            self.fibres.assign(blocks * THREADS, Fibre());
            self.blocks.assign(blocks, Block());
            self.left = blocks * THREADS;
            for (unsigned t = 0; t < self.left; ++t) {
                Fibre& f = self.fibres[t];
                f.stack.resize(24576);
                f.thread = {t % THREADS, 0, 0};
                f.done = false;
                getcontext(&f.context);
                f.context.uc_stack.ss_sp = f.stack.data();
                f.context.uc_stack.ss_size = f.stack.size();
                makecontext(&f.context, (void (*)())body, 1, &f);
            }
        }
        const unsigned number = draw() % blocks, before = self.left;
        for (unsigned t = 0; t < THREADS; ++t) {
            Fibre& f = self.fibres[number * THREADS + t];
            if (f.done || draw() % 4 == 0) continue;
            threadIdx = f.thread;
            blockIdx = {number, together ? (unsigned)rank : 0u, 0};
            block = &self.blocks[number];
            running = &f.context;
            swapcontext(&scheduler, running);
            self.left -= f.done;
        }
        if (self.left == 0 && before > 0) {  // the stream copies the result away
            memcpy(results + (self.call * RANKS + rank) * room, out[rank], room);
            finished += ++self.call == calls;
        }
    }
    return finished;
}
