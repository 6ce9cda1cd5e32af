// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// No signature covers the file that names the newest version, so an attacker who replaces it must
// not be able to downgrade.
func TestTheNewestReleaseIsNotOlderThanWhatIsInstalled(t *testing.T) {
	for _, test := range []struct {
		installed, newest string
		refused           bool
	}{
		{"1.3.0", "1.2.9", true},
		{"1.10.0", "1.9.0", true},
		{"2.0.0", "1.99.99", true},
		{"1.3.0", "1.3.0-rc.1", true},
		{"1.3.0-rc.10", "1.3.0-rc.9", true},
		{"1.3.0-4-g0123abc", "1.3.0", true},
		{"1.3.0-4-g0123abc-dirty", "1.3.0+3.gabcdef0", true},
		{"1.3.0", "1.3.0", false},
		{"1.9.0", "1.10.0", false},
		{"1.3.0-rc.1", "1.3.0", false},
		{"1.3.0-rc.9", "1.3.0-rc.10", false},
		{"1.3.0-4-g0123abc", "1.3.1", false},
		{"1.3.0", "1.3.0+4.g0123abc", false},
		{"0123abc", "1.0.0", false},
	} {
		p := newPerson(t)
		if out, err := p.install(newDist(t, test.newest, client(test.installed))); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		d := newDist(t, test.newest, client(test.newest))
		out, err := p.install(d)
		if (err != nil) != test.refused {
			t.Errorf("%s in place of %s: %v\n%s", test.newest, test.installed, err, out)
			continue
		}
		if !test.refused {
			continue
		}
		if !strings.Contains(out, "Nothing was installed.\nTo go back to the older version, name it: --version "+test.newest+"\n") {
			t.Errorf("%s in place of %s:\n%s", test.newest, test.installed, out)
		}
		if says, err := exec.Command(filepath.Join(p.bin(), "yuba")).Output(); err != nil || !strings.Contains(string(says), "v"+test.installed+" ") {
			t.Errorf("%v: %s is installed", err, says)
		}
		if out, err := p.install(d, "--version", test.newest); err != nil {
			t.Errorf("%s in place of %s, asked for: %v\n%s", test.newest, test.installed, err, out)
		}
	}
}
