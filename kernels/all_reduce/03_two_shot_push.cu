// Two-shot, pushed: the rank that has added up a chunk writes it to everyone itself.
// The change: a sum goes from registers straight into all outputs; the second shot and the meeting before it are gone.
// Why it helps: both directions of a link are busy at once, reads coming in and sums going out, and nothing is read twice.
//
// `count` values a rank; chunks as in two-shot. Takes 2 signal numbers from `epoch` on.

extern "C" __global__ void __launch_bounds__(THREADS, 1) all_reduce_two_shot_push(const __grid_constant__ Group group, int first_rank,
                                                                               unsigned long long count, unsigned epoch,
                                                                               unsigned long long patience) {
    const int rank = first_rank + blockIdx.y;
    const unsigned long long stride = (unsigned long long)gridDim.x * THREADS, packs = packs_of(count);
    const unsigned long long share = (packs + RANKS - 1) / RANKS, first = blockIdx.x * (unsigned long long)THREADS + threadIdx.x;

    meet(group, rank, epoch, patience);  // all inputs are there, and all outputs may be written
    for (unsigned long long at = first; at < share; at += stride) {
        const unsigned long long i = rank * share + at;
        if (i >= packs) break;
        const Pack pack = sum_of_all(group, i, count);
#pragma unroll
        for (int r = 0; r < RANKS; ++r) store(group.out[(rank + r) % RANKS], i, count, pack);
    }
    meet(group, rank, epoch + 1, patience);  // all outputs are written, all inputs read
}
