"""EmotionBench (arXiv 2308.03656): does a situation move the subject as it moves people?"""
