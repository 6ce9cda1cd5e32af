// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// isolated gives a run a network of its own, which reaches what the entries name.
func isolated(r *fakeRun, allow ...string) *fakeRun {
	r.spec.Limits.Network, r.spec.Limits.Isolated = run.NoNetwork, allow
	return r
}

// needsTunnels skips tests of isolated networks where this user cannot have them.
func (b *bench) needsTunnels() {
	b.t.Helper()
	walls := b.walls()
	err := walls.ProbeTunnel(b.t.Context())
	switch {
	case err == nil:
	case os.Geteuid() == 0:
		b.t.Fatalf("this is root, and there are no tunnels: %v", err)
	default:
		b.t.Skipf("this user cannot have tunnels: %v", err)
	}
}

// counter is a server on loopback that counts its connections and greets.
type counter struct {
	net.Listener
	port  string
	calls atomic.Int32
}

func listenAndCount(t *testing.T) *counter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &counter{Listener: l, port: strconv.Itoa(l.Addr().(*net.TCPAddr).Port)} //nolint:forcetypeassert,errcheck // of a TCP listener
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.calls.Add(1)
			fmt.Fprintln(conn, "hello")
			conn.Close()
		}
	}()
	return c
}

// calling has a provisioner that says what of each address came.
func calling(addresses ...string) map[string]string {
	var command strings.Builder
	for _, a := range addresses {
		host, port, _ := net.SplitHostPort(a)
		fmt.Fprintf(&command, "(exec 3<>/dev/tcp/%s/%s && read -r word <&3 && echo %s says $word) 2>&1 || echo %s is closed; ", host, port, a, a)
	}
	return program(fmt.Sprintf(`resource "terraform_data" "call" {
  provisioner "local-exec" {
    interpreter = ["bash", "-c"]
    command     = %q
  }
}`, command.String()))
}

func TestIsolatedRunsReachWhatEntriesName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.needsTunnels()
	b.start()
	open, closed := listenAndCount(t), listenAndCount(t)
	r := isolated(b.stack("isolated", run.OperationPlanAndApply, calling("127.0.0.1:"+open.port, "127.0.0.1:"+closed.port, "169.254.169.254:80", "metadata.internal:80")), "127.0.0.1:"+open.port)
	result := b.succeed(r)
	for _, want := range []string{"127.0.0.1:" + open.port + " says hello", "127.0.0.1:" + closed.port + " is closed", "169.254.169.254:80 is closed", "metadata.internal:80 is closed"} {
		if !strings.Contains(string(r.log), want) {
			t.Errorf("no %q", want)
		}
	}
	if open.calls.Load() != 1 || closed.calls.Load() != 0 {
		t.Errorf("%d and %d connections", open.calls.Load(), closed.calls.Load())
	}
	// Each refusal is in the log, once. The run succeeded without them.
	for _, want := range []string{
		"The network of runs does not allow 169.254.169.254:80, which is link-local, multicast or a metadata service. Special addresses need an entry of their own",
		"The network of runs does not allow metadata.internal. To allow it: --run-network-allow 'metadata.internal'",
	} {
		if n := strings.Count(string(r.log), want); n != 1 {
			t.Errorf("%q is %d times in the log", want, n)
		}
	}
	if len(result.Warnings) > 0 {
		t.Errorf("warnings: %v", result.Warnings)
	}
	if t.Failed() {
		t.Logf("%s", r.log)
	}
}

// The error of tofu does not say why a connection was refused.
func TestAFailedRunNamesWhatItsNetworkRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.needsTunnels()
	b.start()
	r := isolated(b.stack("refused", run.OperationPlanAndApply, program(`
terraform {
  required_providers {
    cloud = { source = "registry.example.com/acme/cloud" }
  }
}`)), "registry.opentofu.org:443")
	result := b.do(r)
	const want = "The network of runs does not allow registry.example.com. To allow it: --run-network-allow 'registry.example.com'"
	if result.Outcome != run.OutcomeFailed || !strings.Contains(result.Error, want) {
		t.Errorf("%+v\n%s", result, r.log)
	}
}

// Programs probe the metadata service. That is not the reason of another failure.
func TestAFailureOfAnotherReasonNamesNoRefusal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.needsTunnels()
	b.start()
	r := isolated(b.stack("quota", run.OperationPlanAndApply, program(`resource "terraform_data" "call" {
  provisioner "local-exec" {
    interpreter = ["bash", "-c"]
    command     = "(exec 3<>/dev/tcp/$((160+9)).254.$((160+9)).254/80) 2>/dev/null; echo quota exceeded; exit 1"
  }
}`)), "*")
	result := b.do(r)
	const refused = "The network of runs does not allow 169.254.169.254:80"
	if result.Outcome != run.OutcomeFailed || strings.Contains(result.Error, "network of runs") || len(result.Warnings) > 0 || !strings.Contains(string(r.log), refused) {
		t.Errorf("%+v\n%s", result, r.log)
	}
}

func TestARunIsNotStartedWithoutItsIsolatedNetwork(t *testing.T) {
	t.Parallel()
	b := newBench(t).unconfined().start()
	r := isolated(b.stack("open", run.OperationPlan, program(twoThings)), "*")
	const want = "start a program with an isolated network (--run-network isolated): it requires namespaces, which this machine does not support"
	if result := b.do(r); result.Class != run.FailureConfiguration || !strings.Contains(result.Error, want) {
		t.Errorf("%+v", result)
	}
}

func TestShellsWithAnIsolatedNetwork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.needsTunnels()
	open, closed := listenAndCount(t), listenAndCount(t)
	r := isolated(b.stack("shell", run.OperationShell, calling("127.0.0.1:"+open.port, "127.0.0.1:"+closed.port, "169.254.169.254:80")), "127.0.0.1:"+open.port)
	out, code, result := b.shell(r, "", "tofu", "apply", "-auto-approve", "-no-color")
	if code != 0 || result.Outcome != run.OutcomeSucceeded {
		t.Errorf("exit code %d, %+v", code, result)
	}
	for _, want := range []string{"127.0.0.1:" + open.port + " says hello", "127.0.0.1:" + closed.port + " is closed", "the network of runs does not allow 169.254.169.254:80"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// An apply keeps its network when the runner dies. Processes that it left, and its relay, end with it.
func TestAnIsolatedApplySurvivesItsRunner(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.needsTunnels()
	first := b.process()
	open := listenAndCount(t)
	r := isolated(b.stack("surviving", run.OperationPlanAndApply, program(fmt.Sprintf(`resource "terraform_data" "call" {
  provisioner "local-exec" {
    interpreter = ["bash", "-c"]
    command     = "(setsid sleep 1234 >/dev/null 2>&1 &) ; mkfifo gate && cat gate && exec 3<>/dev/tcp/127.0.0.1/%[1]s && read -r word <&3 && echo it says $word; exec 3<>/dev/tcp/169.254.169.254/80 || true"
  }
}`, open.port))), "127.0.0.1:"+open.port)
	b.server.submit(r)
	let := b.atGate("surviving", "gate")
	if n := len(relaysOf(t, b)); n != 1 {
		t.Errorf("%d relays during the apply", n)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	b.process()
	b.server.wait(r, "the adoption", func() bool { return strings.Contains(string(r.log), "A new runner took this run over") })
	let()
	result := b.server.finished(r)
	if result.Outcome != run.OutcomeSucceeded || len(result.Warnings) > 0 || !strings.Contains(string(r.log), "it says hello") || !strings.Contains(string(r.log), "does not allow 169.254.169.254:80") {
		t.Errorf("%+v\n%s", result, r.log)
	}
	eventually(t, "the end of the relays", func() bool { return len(relaysOf(t, b)) == 0 })
	if pid := confinement.Leader(confinement.Mark(r.spec.ID)); pid != 0 {
		t.Errorf("process %d of the run is still there", pid)
	}
}

// Without its relay, a program has no network at all. The log says so while an open connection hangs.
func TestARelayThatIsKilledTakesTheNetworkAlong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.needsTunnels()
	b.start()
	open, silent := listenAndCount(t), listenAndHold(t)
	r := isolated(b.stack("cut", run.OperationPlanAndApply, program(fmt.Sprintf(`resource "terraform_data" "call" {
  provisioner "local-exec" {
    interpreter = ["bash", "-c"]
    command     = "exec 4<>/dev/tcp/127.0.0.1/%[2]s; mkfifo gate && cat gate; read -r -t 3 word <&4 || echo the open connection hangs; for a in 127.0.0.1/%[1]s 198.51.100.1/80; do (exec 3<>/dev/tcp/$a) 2>/dev/null && echo $a is open || echo $a is closed; done"
  }
}`, open.port, silent))), "*", "127.0.0.1:"+open.port, "127.0.0.1:"+silent, "198.51.100.77")
	b.server.submit(r)
	let := b.atGate("cut", "gate")
	killRelays(t, b)
	const want = "The network of this run ended: yuba-network stopped before the program (signal: killed)."
	b.server.wait(r, "a line about the relay, during the apply", func() bool { return strings.Contains(string(r.log), want) })
	began := time.Now()
	let()
	result := b.server.finished(r)
	for _, want := range []string{"the open connection hangs", "127.0.0.1/" + open.port + " is closed", "198.51.100.1/80 is closed"} {
		if !strings.Contains(string(r.log), want) {
			t.Errorf("no %q in\n%s", want, r.log)
		}
	}
	if open.calls.Load() != 0 || strings.Count(strings.Join(result.Warnings, "\n"), want) != 1 {
		t.Errorf("%d connections, %v", open.calls.Load(), result.Warnings)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func killRelays(t *testing.T, b *bench) {
	t.Helper()
	for _, relay := range relaysOf(t, b) {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(relay)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the end of the relays", func() bool { return len(relaysOf(t, b)) == 0 })
}

// The relay's parent is the runner that started it. The next one notices its end all the same: after the
// takeover, and between both runners.
func TestARelayThatEndsAfterItsRunnerIsReported(t *testing.T) {
	t.Parallel()
	for when, between := range map[string]bool{"after the takeover": false, "between two runners": true} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.needsTunnels()
			first := b.process()
			open := listenAndCount(t)
			r := isolated(b.stack("orphan", run.OperationPlanAndApply, program(`resource "terraform_data" "call" {
  provisioner "local-exec" {
    command = "mkfifo gate && cat gate"
  }
}`)), "127.0.0.1:"+open.port)
			b.server.submit(r)
			let := b.atGate("orphan", "gate")
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			first.Wait()
			if between {
				killRelays(t, b)
			}
			b.process()
			b.server.wait(r, "the adoption", func() bool { return strings.Contains(string(r.log), "A new runner took this run over") })
			if !between {
				killRelays(t, b)
			}
			const want = "The network of this run ended: yuba-network stopped before the program (an earlier runner had started it"
			b.server.wait(r, "a line about the relay, during the apply", func() bool { return strings.Contains(string(r.log), want) })
			let()
			result := b.server.finished(r)
			if result.Outcome != run.OutcomeSucceeded || strings.Count(strings.Join(result.Warnings, "\n"), want) != 1 {
				t.Errorf("%+v\n%s", result, r.log)
			}
		})
	}
}

// listenAndHold is a server on loopback that never answers. It returns its port.
func listenAndHold(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	held := make(chan net.Conn, 16)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			held <- conn
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// relaysOf are the relays that serve this test: those beside its sandbox with an entry of its own.
func relaysOf(t testing.TB, b *bench) (pids []string) {
	t.Helper()
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		words := strings.Split(string(text), "\x00")
		if words[0] != filepath.Join(filepath.Dir(b.opts.Sandbox), "yuba-network") {
			continue
		}
		for _, r := range b.server.runs {
			if len(r.spec.Limits.Isolated) == 0 {
				continue
			}
			if entries := r.spec.Limits.Isolated; strings.Contains(string(text), entries[len(entries)-1]) {
				pids = append(pids, name)
			}
		}
	}
	return pids
}

// A provider is installed from a registry that an entry names. It is a script that says so.
func TestIsolatedProviders(t *testing.T) {
	t.Parallel()
	b := newStoreBench(t).publish("1.0.0")
	b.needsTunnels()
	b.start()
	refused := b.do(isolated(b.wants("refused", "1.0.0"), "registry.opentofu.org:443"))
	if refused.Outcome != run.OutcomeFailed || refused.FailedStep != run.StepInit {
		t.Errorf("%+v", refused)
	}
	if allowed := b.do(isolated(b.wants("allowed", "1.0.0"), b.registry.Host())); allowed.FailedStep != run.StepPlan || !strings.Contains(allowed.Error, "this is no provider, but version 1.0.0") {
		t.Errorf("%+v", allowed)
	}
}

// git clones over https and over ssh.
func TestIsolatedGit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.needsTunnels()
	b.start()
	git := gittest.New(t, gittest.TLS(), gittest.SSH())
	repository := git.Repository(t, "code")
	repository.Commit(t, "first", gittest.Files{"README": "hello"})
	repository.Push(t)
	var entries []string
	for _, address := range []string{repository.URL(), git.SSHURL("code")} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, u.Host)
	}
	clone := program(fmt.Sprintf(`resource "terraform_data" "clones" {
  provisioner "local-exec" {
    command = <<-EOT
      set -e
      git -c http.sslCAInfo=$HOME/ca.pem clone -q %s https && cat https/README
      chmod 600 $HOME/key && GIT_SSH_COMMAND="ssh -i $HOME/key -o UserKnownHostsFile=$HOME/known" git clone -q %s ssh && cat ssh/README
    EOT
  }
}`, repository.URL(), git.SSHURL("code")))
	r := isolated(b.stack("clones", run.OperationPlanAndApply, clone), entries...)
	for name, content := range map[string][]byte{"ca.pem": git.CA(), "key": git.Authorize(t), "known": git.KnownHosts()} {
		r.spec.Files = append(r.spec.Files, run.File{Location: run.FileInHome, Path: name, Content: content})
	}
	b.succeed(r)
	if n := strings.Count(string(r.log), "hello"); n < 2 {
		t.Errorf("%d clones:\n%s", n, r.log)
	}
}

// Modules come over git, by the store's download and by init, and only from where entries allow.
func TestIsolatedDownloads(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.needsTunnels()
	b.opts.ProviderStore = filepath.Join(b.data, "store")
	b.start()
	git := gittest.New(t)
	repository := git.Repository(t, "module")
	repository.Commit(t, "first", gittest.Files{"main.tf": `output "it" { value = "is here" }`})
	repository.Push(t)
	address := strings.TrimPrefix(strings.Split(repository.URL(), "://")[1], "")
	address, _, _ = strings.Cut(address, "/")
	source := map[string]string{"main.tf": fmt.Sprintf(`
module "m" { source = "git::%s" }
output "it" { value = module.m.it }
`, repository.URL())}
	for name, direct := range map[string]bool{"by the store": false, "by init": true} {
		t.Run(name, func(t *testing.T) {
			stack := strings.ReplaceAll(name, " ", "-")
			change := func(r *fakeRun) *fakeRun {
				if direct { // a setting that may make git run programs leaves the download to init
					r.spec.Env = []run.EnvVar{{Name: "GIT_SSH_COMMAND", Value: "ssh"}}
				}
				return r
			}
			began := time.Now()
			refused := b.do(change(isolated(b.stack(stack+"-refused", run.OperationPlan, source), "registry.opentofu.org:443", "198.51.100.1")))
			if refused.Outcome != run.OutcomeFailed || time.Since(began) > 30*time.Second {
				t.Errorf("%+v", refused)
			}
			allowed := change(isolated(b.stack(stack, run.OperationPlan, source), address))
			if result := b.do(allowed); result.Outcome != run.OutcomeSucceeded {
				t.Errorf("%+v\n%s", result, allowed.log)
			}
		})
	}
}
