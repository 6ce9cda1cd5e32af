// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var programs = []string{"yuba", "yuba-helm", "yuba-kustomize", "yuba-network", "yuba-policy", "yuba-runner", "yuba-sandbox", "yuba-sops"}

// dist is a release on a server, with scripts as programs.
type dist struct{ url, dir string }

func newDist(t *testing.T, version, says string) dist {
	t.Helper()
	d := dist{dir: t.TempDir()}
	server := httptest.NewServer(http.FileServer(http.Dir(d.dir)))
	t.Cleanup(server.Close)
	d.url = server.URL
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	packed := tar.NewWriter(zipped)
	for _, name := range programs {
		script := "#!/bin/sh\n" + says + "\n"
		header := &tar.Header{Name: stem(version) + "/bin/" + name, Mode: 0o755, Size: int64(len(script)), Typeflag: tar.TypeReg}
		if err := packed.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := packed.Write([]byte(script)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(packed.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	d.write(t, stem(version)+".tar.gz", archive.Bytes())
	d.write(t, sums(version), fmt.Appendf(nil, "%x  %s.tar.gz\n", sha256.Sum256(archive.Bytes()), stem(version)))
	d.write(t, "yuba_version.txt", []byte(version+"\n"))
	return d
}

func stem(version string) string { return "yuba_" + version + "_linux_" + runtime.GOARCH }

func sums(version string) string { return "yuba_" + version + "_SHA256SUMS" }

// client is a program that prints its version.
func client(version string) string { return "echo 'Client: v" + version + " (go1.26, linux/amd64)'" }

func (d dist) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (d dist) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(d.dir, name)); err != nil {
		t.Fatal(err)
	}
}

// sign signs the checksums with a new key, and returns the file of the public key.
func (d dist) sign(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	key, public := filepath.Join(dir, "key"), filepath.Join(dir, "public")
	for _, args := range [][]string{
		{"ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key},
		{"ec", "-in", key, "-pubout", "-out", public},
		{"dgst", "-sha256", "-sign", key, "-out", filepath.Join(d.dir, sums(version)+".sig"), filepath.Join(d.dir, sums(version))},
	} {
		if out, err := exec.Command("openssl", args...).CombinedOutput(); err != nil {
			t.Fatalf("openssl %s: %v\n%s", args[0], err, out)
		}
	}
	return public
}

// person installs Yuba, with their own home and temporary directory.
type person struct{ home, temp, first string }

func newPerson(t *testing.T) person {
	t.Helper()
	return person{home: t.TempDir(), temp: t.TempDir(), first: t.TempDir()}
}

// install runs the script of the repository.
func (p person) install(d dist, args ...string) (string, error) {
	script, err := os.ReadFile("../../install.sh")
	if err != nil {
		return "", err
	}
	return p.pipe(d, string(script), args...)
}

// pipe runs a script as "curl … | sh" does.
func (p person) pipe(d dist, script string, args ...string) (string, error) {
	cmd := exec.Command("sh", append([]string{"-s", "--", "--prefix", filepath.Join(p.home, ".local")}, args...)...)
	cmd.Env = []string{"HOME=" + p.home, "TMPDIR=" + p.temp, "PATH=" + p.first + ":" + os.Getenv("PATH"), "YUBA_DOWNLOAD_URL=" + d.url}
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// has lists the installed files, and fails the test if there are others.
func (p person) has(t *testing.T) []string {
	t.Helper()
	for _, dir := range []string{p.temp, p.home} {
		for _, name := range names(t, dir) {
			if name != ".local" {
				t.Errorf("%s has %s", dir, name)
			}
		}
	}
	return names(t, p.bin())
}

func (p person) bin() string { return filepath.Join(p.home, ".local", "bin") }

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func TestTheNewestReleaseIsInstalledAndReplaced(t *testing.T) {
	p := newPerson(t)
	out, err := p.install(newDist(t, "1.2.3", client("1.2.3")))
	if err != nil || !slices.Equal(p.has(t), programs) {
		t.Fatalf("%v: installed %q\n%s", err, p.has(t), out)
	}
	for _, want := range []string{"The checksum is good.", "The signature was not checked", "Installed Yuba 1.2.3 in " + p.bin() + ".\n",
		"export PATH=\"" + p.bin() + ":$PATH\"", "\n    yuba up\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	d := newDist(t, "1.3.0", client("1.3.0"))
	out, err = p.install(d, "--version", "v1.3.0", "--public-key", d.sign(t, "1.3.0"))
	if err != nil || !strings.Contains(out, "The signature is good.") || !strings.Contains(out, "Installed Yuba 1.3.0 in "+p.bin()+", in place of v1.2.3.") {
		t.Errorf("%v\n%s", err, out)
	}
	if says, err := exec.Command(filepath.Join(p.bin(), "yuba")).Output(); err != nil || !slices.Equal(p.has(t), programs) || !strings.Contains(string(says), "v1.3.0") {
		t.Errorf("%v: %s, installed %q", err, says, p.has(t))
	}
}

// After any failure, the previous Yuba is still installed, and no other files are.
func TestAFailureLeavesWhatWasInstalled(t *testing.T) {
	const version = "1.3.0"
	type failure struct {
		damage func(t *testing.T, d dist, p person) (args []string)
		says   string
	}
	for sentence, test := range map[string]failure{
		"a damaged archive": {func(t *testing.T, d dist, _ person) []string {
			content, err := os.ReadFile(filepath.Join(d.dir, stem(version)+".tar.gz"))
			if err != nil {
				t.Fatal(err)
			}
			content[len(content)/2] ^= 1
			d.write(t, stem(version)+".tar.gz", content)
			return nil
		}, "It was damaged or replaced on its way"},
		"no checksum for it": {func(t *testing.T, d dist, _ person) []string {
			d.write(t, sums(version), []byte(strings.Repeat("0", 64)+"  yuba_1.3.0_plan9_mips.tar.gz\n"))
			return nil
		}, "has no checksum for " + stem(version) + ".tar.gz. Nothing was installed"},
		"no list of checksums": {func(t *testing.T, d dist, _ person) []string {
			d.remove(t, sums(version))
			return nil
		}, "could not download"},
		"no archive": {func(t *testing.T, d dist, _ person) []string {
			d.remove(t, stem(version)+".tar.gz")
			return nil
		}, "could not download"},
		"no such version":          {func(*testing.T, dist, person) []string { return []string{"--version", "9.9.9"} }, "could not download"},
		"a version that is a path": {func(*testing.T, dist, person) []string { return []string{"--version", "../x"} }, `"../x" is not a version`},
		"no signature where one is demanded": {func(t *testing.T, d dist, _ person) []string {
			public := d.sign(t, version)
			d.remove(t, sums(version)+".sig")
			return []string{"--public-key", public}
		}, "could not download"},
		"a signature of another key": {func(t *testing.T, d dist, _ person) []string {
			public := d.sign(t, version)
			d.sign(t, version)
			return []string{"--public-key", public}
		}, "The release has another author"},
		"programs that do not start": {func(t *testing.T, d dist, _ person) []string {
			broken := newDist(t, version, "exit 1")
			for _, name := range names(t, broken.dir) {
				content, err := os.ReadFile(filepath.Join(broken.dir, name))
				if err != nil {
					t.Fatal(err)
				}
				d.write(t, name, content)
			}
			return nil
		}, "the programs do not start"},
		"another processor": {func(t *testing.T, _ dist, p person) []string {
			p.uname(t, "Linux", "riscv64")
			return nil
		}, "there is no Yuba for riscv64 processors"},
		"macOS": {func(t *testing.T, _ dist, p person) []string {
			p.uname(t, "Darwin", "arm64")
			return nil
		}, "Yuba does not run on macOS"},
		"another system": {func(t *testing.T, _ dist, p person) []string {
			p.uname(t, "FreeBSD", "amd64")
			return nil
		}, "there is no Yuba for FreeBSD"},
		"an option that is not known": {func(*testing.T, dist, person) []string { return []string{"--force"} }, "there is no option --force"},
		"a place that cannot be":      {func(*testing.T, dist, person) []string { return []string{"--prefix", "/dev/null"} }, "Choose another directory with --prefix"},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := newPerson(t)
			if out, err := p.install(newDist(t, "1.2.3", client("1.2.3"))); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			d := newDist(t, version, client(version))
			out, err := p.install(d, test.damage(t, d, p)...)
			if err == nil || !strings.Contains(out, test.says) {
				t.Errorf("%v: want %q in\n%s", err, test.says, out)
			}
			if says, err := exec.Command(filepath.Join(p.bin(), "yuba")).Output(); err != nil || !slices.Equal(p.has(t), programs) || !strings.Contains(string(says), "v1.2.3") {
				t.Errorf("%v: %s, installed %q", err, says, p.has(t))
			}
		})
	}
}

// uname makes the person's machine report another system.
func (p person) uname(t *testing.T, system, machine string) {
	t.Helper()
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in -m) echo %s ;; *) echo %s ;; esac\n", machine, system)
	if err := os.WriteFile(filepath.Join(p.first, "uname"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

// A truncated script does nothing: people pipe it from the network into a shell.
func TestAScriptThatBreaksOffDoesNothing(t *testing.T) {
	script, err := os.ReadFile("../../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	d := newDist(t, "1.2.3", client("1.2.3"))
	for _, share := range []float64{0.5, 0.9, 0.99} {
		p := newPerson(t)
		half := script[:int(share*float64(len(script)))]
		if out, _ := p.pipe(d, string(half)); len(p.has(t)) != 0 {
			t.Errorf("%.0f %%: installed %q\n%s", share*100, p.has(t), out)
		}
	}
}
