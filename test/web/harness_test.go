// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/cli"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// screenshots is where pictures are written; empty for nowhere.
var screenshots = flag.String("screenshots", "", "a directory for pictures of the pages")

// patience is the timeout of operations that normally take a second or two.
const patience = 60 * time.Second

// tabTime limits what a test does in one tab.
const tabTime = 10 * patience

// programs is the directory with the programs under test.
var programs string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(tofutest.Main(cli.Main, func(dir string) int {
		programs = dir
		defer shared.stop()
		return m.Run()
	}))
}

// server is a running Yuba.
type server struct {
	dir, api, http string
	args           []string
	cmd            *exec.Cmd
	client         client.WithWatch
	log            proctest.Log
}

// world is what the tests share: a Yuba.
type world struct {
	once sync.Once
	s    *server
	err  error
}

var shared world

// open starts what the tests share.
func (w *world) open(tofu string) error {
	w.once.Do(func() {
		dir, err := os.MkdirTemp("", "yuba-web-data-")
		if err != nil {
			w.err = err
			return
		}
		w.s, w.err = launch(dir, "--tofu", tofu)
	})
	return w.err
}

// stop ends what the tests share.
func (w *world) stop() {
	if w.s != nil {
		w.s.end()             //nolint:errcheck // the process ends, and no test is left to tell
		os.RemoveAll(w.s.dir) //nolint:errcheck // a temporary directory
	}
}

// launch starts Yuba with a data directory and waits until it is ready.
func launch(dir string, args ...string) (*server, error) {
	s := &server{dir: dir}
	var err error
	if s.api, err = proctest.FreeAddress(); err != nil {
		return nil, err
	}
	if s.http, err = proctest.FreeAddress(); err != nil {
		return nil, err
	}
	s.args = args
	return s, s.start()
}

func (s *server) start() error {
	s.cmd = exec.Command(filepath.Join(programs, "yuba"), append([]string{"up", "--data-dir", s.dir, "--api-address", s.api, "--http-address", s.http, "--registry-address", "off"}, s.args...)...)
	if err := proctest.Start(s.cmd, "Yuba is ready", &s.log, patience); err != nil {
		return err
	}
	var err error
	s.client, err = kubetest.Client(filepath.Join(s.dir, "kubeconfig"))
	return err
}

// end ends the server, its runner and their processes.
func (s *server) end() error {
	if s.cmd.ProcessState == nil {
		s.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // what is left is killed
		s.cmd.Wait()                          //nolint:errcheck // it was told to end
	}
	return proctest.End(s.dir)
}

// yuba runs a command of the program under test, which must succeed.
func (s *server) yuba(t *testing.T, args ...string) string {
	t.Helper()
	out, code := s.run(t, args...)
	if code != 0 {
		t.Fatalf("yuba %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// run runs a command of the program under test, and returns what it printed and its exit code.
func (s *server) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "yuba"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(s.dir, "kubeconfig"))
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// namespace makes a namespace for a test.
func (s *server) namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	if err := s.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// common returns the shared Yuba and a namespace.
func common(t *testing.T) (*server, string) {
	t.Helper()
	if err := shared.open(tofutest.Tofu(t)); err != nil {
		t.Fatal(err)
	}
	return shared.s, shared.s.namespace(t)
}

// tab is a browser with one tab. It has cookies of its own.
type tab struct {
	*testing.T
	ctx    context.Context
	server *server

	mu       sync.Mutex
	problems []string
}

// newTab opens a tab. The test fails if the browser reports a problem in it that the test does not
// expect.
func newTab(t *testing.T, s *server, more ...chromedp.ExecAllocatorOption) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	options = append(options, more...)
	allocator, closeAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	ctx, stop := context.WithTimeout(ctx, tabTime)
	b := &tab{T: t, ctx: ctx, server: s}
	chromedp.ListenTarget(ctx, b.listen)
	t.Cleanup(func() {
		stop()
		cancel()
		closeAllocator()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, problem := range b.problems {
			t.Errorf("the browser reports: %s", problem)
		}
	})
	if err := chromedp.Run(ctx, log.Enable(), runtime.Enable()); err != nil {
		t.Fatalf("start Chromium: %v. tools/ensure-browser installs it", err)
	}
	return b
}

// listen collects what the browser reports.
func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError {
			b.problems = append(b.problems, fmt.Sprintf("%s (%s)", e.Entry.Text, e.Entry.URL))
		}
	case *page.EventJavascriptDialogOpening:
		b.problems = append(b.problems, "a dialog of the browser: "+e.Message)
	}
}

// reported reports whether the browser has reported a problem that contains a text.
func (b *tab) reported(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.problems, func(problem string) bool { return strings.Contains(problem, text) })
}

// expect takes the reported problems that contain a text, and fails if there is none.
func (b *tab) expect(text string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	found := false
	var rest []string
	for _, problem := range b.problems {
		if strings.Contains(problem, text) {
			found = true
			continue
		}
		rest = append(rest, problem)
	}
	b.problems = rest
	if !found {
		b.Errorf("the browser did not report %q", text)
	}
}

// do runs actions in the tab. Without a chromedp.QueryOption, an action also finds elements that only
// mention its selector, which need not be visible: h1, say.
func (b *tab) do(actions ...chromedp.Action) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.Fatalf("%v\n%s", err, b.text("body"))
	}
}

// login logs in as the user of the server's kubeconfig.
func (b *tab) login() {
	b.Helper()
	link := strings.TrimSpace(b.server.yuba(b.T, "web", "--print"))
	b.do(chromedp.Navigate(link), chromedp.WaitVisible("h1", chromedp.ByQuery), chromedp.WaitNotPresent("#link"))
}

// open opens a page of the server.
func (b *tab) open(path string) {
	b.Helper()
	b.do(chromedp.Navigate("http://"+b.server.http+path), chromedp.WaitVisible("h1", chromedp.ByQuery))
}

// sees waits until an element contains a text.
func (b *tab) sees(selector, text string) {
	b.Helper()
	script := fmt.Sprintf("[...document.querySelectorAll(%q)].some((e) => e.innerText.includes(%q))", selector, text)
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		// Another page may be loaded meanwhile, which ends the poll.
		if err = chromedp.Run(b.ctx, chromedp.Poll(script, nil, chromedp.WithPollingTimeout(time.Until(end)))); err == nil {
			return
		}
	}
	b.Fatalf("%s never showed %q: %v\n%s", selector, text, err, b.text("body"))
}

// text is the text of an element as it is shown; empty if there is none.
func (b *tab) text(selector string) string {
	var text string
	script := fmt.Sprintf("(document.querySelector(%q) || {}).innerText || \"\"", selector)
	if err := chromedp.Run(b.ctx, chromedp.Evaluate(script, &text)); err != nil {
		return fmt.Sprintf("(the page cannot be read: %v)", err)
	}
	return text
}

// path is the path of the shown page.
func (b *tab) path() string {
	b.Helper()
	var address string
	b.do(chromedp.Location(&address))
	u, err := url.Parse(address)
	if err != nil {
		b.Fatal(err)
	}
	return u.Path
}

// program writes a small program and returns its directory.
func program(t *testing.T, hcl string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(hcl), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
