// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package giteatest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The accounts beside those of forgetest. Self is our own, Root administers Gitea.
const (
	Self     = "yuba-bot"
	Root     = "root-admin"
	password = "Password-of-tests-1" //nolint:gosec // of a server on loopback that ends with the test
)

// Server is a running Gitea.
type Server struct {
	URL string

	token   string // of root
	tokens  map[forgetest.Token]string
	program string
	dir     string
	worlds  atomic.Int64
}

const config = `I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
APP_NAME = Gitea of a test
WORK_PATH = %[1]s

[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[2]s
ROOT_URL = http://127.0.0.1:%[2]s/
STATIC_ROOT_PATH = %[3]s
DISABLE_SSH = true
OFFLINE_MODE = true
START_SSH_SERVER = false

[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
SQLITE_TIMEOUT = 20000

[security]
INSTALL_LOCK = true
SECRET_KEY = %[4]s
PASSWORD_HASH_ALGO = pbkdf2$1000$50

[repository]
DEFAULT_BRANCH = main
ROOT = %[1]s/repositories

[service]
DISABLE_REGISTRATION = true

[webhook]
ALLOWED_HOST_LIST = loopback

[indexer]
ISSUE_INDEXER_TYPE = db

[log]
MODE = console
LEVEL = error

[cron]
ENABLED = false

[actions]
ENABLED = false

[packages]
ENABLED = false

[picture]
DISABLE_GRAVATAR = true
`

// Start starts a Gitea that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	bin := filepath.Join(tofutest.RepositoryRoot(t), "bin")
	s := &Server{program: filepath.Join(bin, "gitea"), dir: t.TempDir(), tokens: map[forgetest.Token]string{forgetest.Wrong: strings.Repeat("0", 40)}}
	if _, err := os.Stat(s.program); err != nil {
		t.Fatal("there is no Gitea. Build it once:\n    make bin/gitea")
	}
	port := freePort(t)
	s.URL = "http://127.0.0.1:" + port
	text := fmt.Sprintf(config, s.dir, port, filepath.Join(bin, "gitea-files"), strings.Repeat("k", 40))
	if err := os.WriteFile(s.config(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run(t, "migrate")
	s.run(t, "admin", "user", "create", "--username", Root, "--email", Root+"@example.com", "--password", password, "--admin", "--must-change-password=false")
	s.token = strings.TrimSpace(s.run(t, "admin", "user", "generate-access-token", "--username", Root, "--token-name", "test", "--scopes", "all", "--raw"))
	s.serve(t)
	for _, name := range []string{Self, forgetest.Alice, forgetest.Bob, forgetest.Mallory} {
		s.Do(t, "", http.MethodPost, "/admin/users", object{"username": name, "email": name + "@example.com", "password": password, "must_change_password": false}, nil)
	}
	s.tokens[forgetest.Full] = s.newToken(t, "full", "write:repository", "write:issue", "read:user")
	s.tokens[forgetest.ReadOnly] = s.newToken(t, "read-only", "read:repository", "read:issue", "read:user")
	return s
}

// freePort is a port that nobody listens on.
func freePort(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // Gitea listens there next
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func (s *Server) config() string { return filepath.Join(s.dir, "app.ini") }

func (s *Server) command(t testing.TB, args ...string) *exec.Cmd {
	cmd := exec.Command(s.program, append(args, "--config", s.config())...)
	cmd.Dir = s.dir
	cmd.Env = []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "GITEA_WORK_DIR=" + s.dir}
	return cmd
}

// run runs one of Gitea's own commands.
func (s *Server) run(t testing.TB, args ...string) string {
	t.Helper()
	cmd := s.command(t, args...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gitea %s: %v\n%s%s", args[0], err, out, problems.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// serve starts the server, and waits until it answers.
func (s *Server) serve(t testing.TB) {
	t.Helper()
	cmd := s.command(t, "web")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait() //nolint:errcheck // its log is shown if the test fails
		close(ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			cmd.Process.Kill() //nolint:errcheck // it may have ended
			<-ended
		}
		if t.Failed() {
			t.Log("Gitea's log:\n", log.String())
		}
	})
	forgetest.Eventually(t, "Gitea answers", func() bool {
		select {
		case <-ended:
			t.Fatal("Gitea ended: ", log.String())
		default:
		}
		answer, err := client.Get(s.URL + "/api/v1/version")
		if err != nil {
			return false
		}
		answer.Body.Close() //nolint:errcheck // only the status counts
		return answer.StatusCode == http.StatusOK
	})
}

var client = &http.Client{Timeout: time.Minute}

type object = map[string]any

// newToken makes a token of our account, which its password allows.
func (s *Server) newToken(t testing.TB, name string, scopes ...string) string {
	t.Helper()
	var token struct {
		SHA1 string `json:"sha1"`
	}
	s.send(t, http.MethodPost, "/users/"+Self+"/tokens", object{"name": name, "scopes": scopes}, &token, func(r *http.Request) { r.SetBasicAuth(Self, password) })
	return token.SHA1
}

// Do makes a call as somebody, or as the administrator if who is empty.
func (s *Server) Do(t testing.TB, who, method, path string, in, out any) {
	t.Helper()
	if code, text := s.send(t, method, path, in, out, func(r *http.Request) {
		r.Header.Set("Authorization", "token "+s.token)
		if who != "" {
			r.Header.Set("Sudo", who)
		}
	}); code >= http.StatusBadRequest {
		t.Fatalf("%s %s as %q: %d %s", method, path, who, code, text)
	}
}

// send sends a request, and returns the status and text of its response.
// Requests also clean up, when the context of the test has ended: the client has a timeout.
func (s *Server) send(t testing.TB, method, path string, in, out any, authorize func(*http.Request)) (int, string) {
	t.Helper()
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, s.URL+"/api/v1"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	authorize(r)
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if out != nil && answer.StatusCode < http.StatusBadRequest {
		if err := json.Unmarshal(text, out); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return answer.StatusCode, string(text)
}
