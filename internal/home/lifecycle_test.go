// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/home/backup"
	"github.com/yuba-dev/yuba/internal/home/datadir"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// secretWith makes a Secret in the default namespace.
func secretWith(t *testing.T, client *kubernetes.Clientset, name, content string) {
	t.Helper()
	_, err := client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"content": content}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// contentOf reads what secretWith stored.
func contentOf(t *testing.T, client *kubernetes.Clientset, name string) string {
	t.Helper()
	secret, err := client.CoreV1().Secrets("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(secret.Data["content"])
}

func fromKubeconfig(t *testing.T, path string) *kubernetes.Clientset {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestRestartKeepsObjectsAndKubeconfig(t *testing.T) {
	options := testOptions(t.TempDir())
	p, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	secretWith(t, clientOf(t, p), "kept", "as it was")
	options.APIAddress = p.Address()
	client := fromKubeconfig(t, p.Kubeconfig())
	stop(t, p)
	select {
	case <-p.Done():
	default:
		t.Error("stopped, but not done")
	}
	if err := p.Err(); err != nil {
		t.Errorf("stopped as wanted, but Err says %v", err)
	}
	p = startIn(t, options)
	if got := contentOf(t, clientOf(t, p), "kept"); got != "as it was" {
		t.Errorf("content %q after a restart", got)
	}
	if got := contentOf(t, client, "kept"); got != "as it was" {
		t.Errorf("content %q with the kubeconfig from before", got)
	}
}

func TestStopCutsWatchesOff(t *testing.T) {
	p, err := Start(t.Context(), testOptions(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	watch, err := fromKubeconfig(t, p.Kubeconfig()).CoreV1().Secrets("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		t.Errorf("stop with a watch open: %v", err)
	}
	for range watch.ResultChan() {
		// What it still brings does not matter; that it ends does.
	}
}

// child starts this test binary as an API in dir.
func child(t *testing.T, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(executable)
	command.Env = append(os.Environ(), childDirectory+"="+dir)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return command, bufio.NewReader(out)
}

func kill(t *testing.T, command *exec.Cmd) {
	t.Helper()
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// It ends by the signal, which Wait reports as an error.
	_ = command.Wait()
}

func TestStartAfterKillAtAnyMoment(t *testing.T) {
	dir := t.TempDir()
	for _, moment := range []time.Duration{50, 250, 600, 1200} {
		command, out := child(t, dir)
		ready := make(chan struct{})
		go func() {
			out.ReadString('\n')
			close(ready)
		}()
		select {
		case <-time.After(moment * time.Millisecond):
		case <-ready:
		}
		kill(t, command)
	}
	command, out := child(t, dir)
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		kill(t, command)
		t.Fatalf("after kills while it started: %q, error %v", line, err)
	}
	secretWith(t, fromKubeconfig(t, filepath.Join(dir, "kubeconfig")), "acknowledged", "before the kill")
	kill(t, command)

	p := startIn(t, testOptions(dir))
	if got := contentOf(t, clientOf(t, p), "acknowledged"); got != "before the kill" {
		t.Errorf("content %q after a kill", got)
	}
}

func TestStartRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	inUse := taken.Addr().String()

	for sentence, test := range map[string]struct {
		options func(*testing.T) Options
		want    string
	}{
		"a directory that another one uses, and says which": {
			func(*testing.T) Options { return testOptions(string(shared.dir)) },
			fmt.Sprintf("process %d, since ", os.Getpid()),
		},
		"a directory that another one uses, and says where it serves": {
			func(*testing.T) Options { return testOptions(string(shared.dir)) },
			"serving " + shared.Address(),
		},
		"a directory of a newer version": {
			func(t *testing.T) Options {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "version"), []byte("99\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				return testOptions(dir)
			},
			"A newer Yuba wrote it",
		},
		"an address in use": {
			func(t *testing.T) Options {
				options := testOptions(t.TempDir())
				options.APIAddress = inUse
				return options
			},
			"cannot listen on " + inUse + ": address already in use. Another Yuba or program uses it: choose another with --api-address",
		},
		"an address that the machine does not have": {
			func(t *testing.T) Options {
				options := testOptions(t.TempDir())
				options.APIAddress = "192.0.2.1:7443"
				return options
			},
			"this machine does not have that address",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			p, err := Start(t.Context(), test.options(t))
			if err == nil {
				stop(t, p)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}

func TestRefusedStartLeavesTheDirectoryFree(t *testing.T) {
	dir := t.TempDir()
	options := testOptions(dir)
	options.APIAddress = shared.Address()
	var refused *ListenError
	if _, err := Start(t.Context(), options); !errors.As(err, &refused) {
		t.Fatalf("error %v, want a ListenError", err)
	}
	lock, err := datadir.Dir(dir).Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

func TestBackupIsRestoredOnline(t *testing.T) {
	dir := t.TempDir()
	blob := func(name, content string) {
		path := filepath.Join(dir, "blobs", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Start(t.Context(), testOptions(dir))
	if err != nil {
		t.Fatal(err)
	}
	secretWith(t, clientOf(t, p), "old", "as it was")
	blob("runs/one", "log")

	archive, err := os.Create(filepath.Join(t.TempDir(), "backup.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := p.Backup(t.Context(), archive); err != nil {
		t.Fatal(err)
	}
	secretWith(t, clientOf(t, p), "new", "made later")
	if err := clientOf(t, p).CoreV1().Secrets("default").Delete(t.Context(), "old", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	blob("runs/two", "later log")
	if _, err := archive.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	origin, err := stageRestore(dir, archive)
	if err != nil {
		t.Fatal(err)
	}
	if origin.Version != "test" || origin.Created.IsZero() {
		t.Errorf("the backup's origin is %+v", origin)
	}
	if got := contentOf(t, clientOf(t, p), "new"); got != "made later" {
		t.Errorf("content %q: staging changed the running API", got)
	}
	stop(t, p)

	p = startIn(t, testOptions(dir))
	client := fromKubeconfig(t, p.Kubeconfig())
	if got := contentOf(t, client, "old"); got != "as it was" {
		t.Errorf("content %q after restoring", got)
	}
	_, err = client.CoreV1().Secrets("default").Get(t.Context(), "new", metav1.GetOptions{})
	if err := gone(err); err != nil {
		t.Errorf("what was made after the backup: %v", err)
	}
	secretWith(t, client, "newer", "after restoring")
	if data, err := os.ReadFile(filepath.Join(dir, "blobs", "runs", "one")); err != nil || string(data) != "log" {
		t.Errorf("blob %q, error %v", data, err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "before-restore-*", "blobs", "runs", "two"))
	if err != nil || len(kept) != 1 {
		t.Errorf("the blob that was replaced is kept at %v, error %v", kept, err)
	}
}

// stageRestore is what "yuba restore" does once it has the directory's lock.
func stageRestore(dataDir string, archive io.Reader) (backup.Origin, error) {
	dir, err := datadir.Open(dataDir)
	if err != nil {
		return backup.Origin{}, err
	}
	return backup.Stage(dir, archive)
}
