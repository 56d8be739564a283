// Two-shot: each rank adds up one n-th of the buffer (reduce-scatter), then fetches the rest (all-gather).
// The change: the sum of a chunk is computed once, by the chunk's own rank, and read by the others when it is ready.
// Why it helps: 2(n - 1)/n buffers cross a link instead of n - 1, the fewest there can be without a switch that adds.
// Why it is slow: a third meeting, between the shots, where all links stand still.
//
// `count` values a rank; rank r's chunk is packs r * share to (r + 1) * share, what lies past the end is not there. A block gathers
// what the same block of the other ranks has summed, so that it waits for no one else. Takes 3 signal numbers from `epoch` on.

extern "C" __global__ void __launch_bounds__(THREADS, 1) all_reduce_two_shot(const __grid_constant__ Group group, int first_rank,
                                                                          unsigned long long count, unsigned epoch,
                                                                          unsigned long long patience) {
    const int rank = first_rank + blockIdx.y;
    const unsigned long long stride = (unsigned long long)gridDim.x * THREADS, packs = packs_of(count);
    const unsigned long long share = (packs + RANKS - 1) / RANKS, first = blockIdx.x * (unsigned long long)THREADS + threadIdx.x;

    meet(group, rank, epoch, patience);
    for (unsigned long long at = first; at < share; at += stride) {
        const unsigned long long i = rank * share + at;
        if (i < packs) store(group.out[rank], i, count, sum_of_all(group, i, count));
    }
    meet(group, rank, epoch + 1, patience);  // every chunk is summed
    for (unsigned long long at = first; at < share; at += stride)
#pragma unroll
        for (int r = 1; r < RANKS; r += 4) {  // four loads on their way at once; each rank begins with the one after it
            Pack pack[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const unsigned long long i = (rank + r + k) % RANKS * share + at;
                if (r + k < RANKS && i < packs) pack[k] = load(group.out[(rank + r + k) % RANKS], i, count);
            }
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const unsigned long long i = (rank + r + k) % RANKS * share + at;
                if (r + k < RANKS && i < packs) store(group.out[rank], i, count, pack[k]);
            }
        }
    meet(group, rank, epoch + 2, patience);  // nobody reads this rank's output any more
}
