// Ring: every rank talks to the next one only. n - 1 steps add a chunk up on its way round, n - 1 more carry the sums round.
// The change: in each step a rank sends one chunk, a different one on every link, and waits for the one before it alone.
// Why it helps: all links are busy all the time with 2(n - 1)/n buffers each, whatever the number of ranks, and each rank needs a
// way to one neighbour only.
// Why it is slow: 2(n - 1) steps one after the other; for small buffers it is all waiting.
//
// `count` values a rank; chunks as in two-shot. In step s rank r sends chunk r - s (mod n) into the next rank's output: its own
// input in step 0, what came plus its input until step n - 1, which completes the chunk, then what came as it is. A block of a rank
// sends to the same block of the next. Takes 2n - 1 signal numbers from `epoch` on.

extern "C" __global__ void __launch_bounds__(THREADS, 1) all_reduce_ring(const __grid_constant__ Group group, int first_rank,
                                                                      unsigned long long count, unsigned epoch,
                                                                      unsigned long long patience) {
    const int rank = first_rank + blockIdx.y, next = (rank + 1) % RANKS, before = (rank + RANKS - 1) % RANKS;
    const unsigned long long stride = (unsigned long long)gridDim.x * THREADS, packs = packs_of(count);
    const unsigned long long share = (packs + RANKS - 1) / RANKS, first = blockIdx.x * (unsigned long long)THREADS + threadIdx.x;
    const Pack* mine = group.in[rank];
    Pack *here = group.out[rank], *there = group.out[next];
    unsigned* to = group.signals[next] + blockIdx.x * RANKS + rank;
    const unsigned* from = group.signals[rank] + blockIdx.x * RANKS + before;

    meet(group, rank, epoch, patience);  // all outputs may be written
    for (int step = 0; step < 2 * (RANKS - 1); ++step) {
        const unsigned long long start = (rank + 2 * RANKS - step) % RANKS * share;
        if (step > 0) {
            if (threadIdx.x == 0) wait_for(from, epoch + step, group.failed[rank], patience);
            __syncthreads();
        }
        for (unsigned long long at = first; at < share; at += stride) {
            const unsigned long long i = start + at;
            if (i >= packs) break;
            Pack pack = load(step == 0 ? mine : here, i, count);
            if (step > 0 && step < RANKS) {
                Sum sum = widen(pack);
                add(sum, load(mine, i, count));
                pack = pack_of(sum);
            }
            if (step == RANKS - 1) store(here, i, count, pack);
            store(there, i, count, pack);
        }
        __syncthreads();
        if (threadIdx.x == 0) store_release(to, epoch + step + 1);
    }
    if (threadIdx.x == 0) wait_for(from, epoch + 2 * (RANKS - 1), group.failed[rank], patience);  // the last chunk has come
}
