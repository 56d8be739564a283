// One-shot: every rank reads everything from everyone and adds it up for itself.
// The change: nothing is sent on. A rank waits until all inputs are there, reads all of them through peer pointers, writes its own
// output.
// Why it helps: two meetings are all the waiting there is, so it is the fastest way for small buffers.
// Why it is slow: each rank pulls (n - 1) whole buffers through its link, n / 2 times what is needed; large buffers pay for it.
//
// `count` values a rank. Grid (blocks, ranks of this device): rank = first_rank + blockIdx.y. Takes 2 signal numbers from `epoch` on.

extern "C" __global__ void __launch_bounds__(THREADS, 1) all_reduce_one_shot(const __grid_constant__ Group group, int first_rank,
                                                                          unsigned long long count, unsigned epoch,
                                                                          unsigned long long patience) {
    const int rank = first_rank + blockIdx.y;
    const unsigned long long stride = (unsigned long long)gridDim.x * THREADS, packs = packs_of(count);

    meet(group, rank, epoch, patience);  // all inputs are there
    for (unsigned long long i = blockIdx.x * (unsigned long long)THREADS + threadIdx.x; i < packs; i += stride)
        store(group.out[rank], i, count, sum_of_all(group, i, count));
    meet(group, rank, epoch + 1, patience);  // nobody reads this rank's input any more
}
