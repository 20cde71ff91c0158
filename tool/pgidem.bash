# bash completion of pgidem
