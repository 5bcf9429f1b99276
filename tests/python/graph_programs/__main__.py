import sys

from graph_programs import main

main(sys.argv[1])
