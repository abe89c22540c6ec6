"""What measures over dependency trees share: histograms of their parts, sums, edit distances."""
