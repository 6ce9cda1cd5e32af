// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/cli"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The storm's size. The defaults are the short form; `make chaos` asks for the long one.
var (
	seedFlag    = flag.Uint64("seed", 0, "what the storms are made from; 0 picks one and tells it")
	stacksFlag  = flag.Int("stacks", 12, "how many stacks the fleet has")
	killsFlag   = flag.Int("kills", 6, "how many kills of server or runner")
	appliesFlag = flag.Int("applies", 10, "how many changes to the fleet are applied at least")
	fellsFlag   = flag.Int("fells", 3, "how many kills of tofu or of everything at once")
	cutsFlag    = flag.Int("cuts", 2, "how many power cuts")
	damagesFlag = flag.Int("damages", 4, "how many times files are damaged")
	fsFlag      = flag.String("fs", "ext4", "the file system of disks that lose power or fill up: ext4 or xfs")
	keepFlag    = flag.Bool("keep", false, "keep the directories, also of storms that did no harm")
	settleFlag  = flag.Duration("settle", 4*time.Minute, "how long everything may take to settle after a storm")
)

// programs is the directory with the programs under test, installed side by side as for a user.
var programs string

func TestMain(m *testing.M) {
	os.Exit(tofutest.Main(cli.Main, func(dir string) int {
		programs = dir
		if err := tofutest.BuildProvider(providerMirror()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}))
}

func providerMirror() string { return filepath.Join(programs, "providers") }

// newSeed is the requested seed, or a random one.
func newSeed(t *testing.T) uint64 {
	seed := *seedFlag
	for seed == 0 {
		seed = rand.Uint64() >> 33
	}
	t.Logf("the storm's seed is %d; to have it again:\n    make chaos CHAOSFLAGS='-run %s$ -args -seed %d -stacks %d -kills %d -applies %d -fells %d -cuts %d -damages %d -fs %s'",
		seed, t.Name(), seed, *stacksFlag, *killsFlag, *appliesFlag, *fellsFlag, *cutsFlag, *damagesFlag, *fsFlag)
	return seed
}
