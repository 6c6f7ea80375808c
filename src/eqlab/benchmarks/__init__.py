"""The benchmarks: items become trials, replies become answers, answers become scores. Pure: values in, values out."""
