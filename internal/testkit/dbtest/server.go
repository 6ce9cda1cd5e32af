// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dbtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Username is the ordinary user of each server, with all rights in its [Database]. Password has
// characters that need escaping.
const (
	Username = "app"
	Password = `p@ss'w"o\rd:/?#[]%20 ü`
	Database = "tenants"
)

// patience limits operations that take seconds on an idle machine.
const patience = 2 * time.Minute

// Server is a database server.
type Server struct {
	// Engine is the name of the product.
	Engine string
	// Host and Port are its address. The certificate is for localhost, not for this address.
	Host string
	Port int32
	// Username, Password and Database are for an ordinary user.
	Username, Password, Database string
	// DB has an administrator's connections to the same database.
	DB *sql.DB
	// CA is the authority of the server's certificate, and of the client's Certificate with its
	// Key. All PEM.
	CA, Certificate, Key []byte

	place   *place
	engine  engine
	process *process
}

// engine has the differences of the products.
type engine interface {
	// install creates the data directory; serve is the command that starts the server.
	install(p *place) error
	serve(p *place, port int32) *exec.Cmd
	// connect opens the administrator's connections, to a database or to none.
	connect(p *place, port int32, database string) (*sql.DB, error)
	// populate creates the database and its user.
	populate(db *sql.DB) error
	// stop ends the server, crash kills it.
	stop() syscall.Signal
	crash() syscall.Signal
}

func begin(name string, e engine, users ...string) (*Server, error) {
	p, err := newPlace(users)
	if err != nil {
		return nil, fmt.Errorf("start %s for tests: %w", name, err)
	}
	s := &Server{
		Engine: name, Host: "127.0.0.1", Username: Username, Password: Password, Database: Database,
		CA: p.authority.certificate, Certificate: p.client.certificate, Key: p.client.key, place: p, engine: e,
	}
	if err := s.first(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s for tests: %w", name, err), s.Stop())
	}
	return s, nil
}

// first starts the server for the first time. It tries several ports, because another process may
// take a free one.
func (s *Server) first() error {
	if err := s.engine.install(s.place); err != nil {
		return err
	}
	var err error
	for range 5 {
		if s.Port, err = freePort(); err != nil {
			return err
		}
		if err = s.up(""); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	if err := s.engine.populate(s.DB); err != nil {
		return fmt.Errorf("make database %s: %w", Database, err)
	}
	return s.use(Database)
}

// use reopens the administrator's connections.
func (s *Server) use(database string) (err error) {
	if s.DB != nil {
		s.DB.Close() //nolint:errcheck // it is replaced
	}
	s.DB, err = s.engine.connect(s.place, s.Port, database)
	return err
}

// up starts the process and waits until it accepts connections.
func (s *Server) up(database string) error {
	var err error
	if s.process, err = start(s.place, s.engine.serve(s.place, s.Port)); err != nil {
		return err
	}
	if err := s.use(database); err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := s.DB.PingContext(ctx)
		cancel()
		switch {
		case err == nil:
			return nil
		case s.process.over():
			return fmt.Errorf("it ended at once: %w\n%s", s.process.err, s.process.said())
		case time.Now().After(deadline):
			s.process.end(syscall.SIGKILL)
			return fmt.Errorf("it does not answer: %w\n%s", err, s.process.said())
		}
	}
}

// Start restarts a killed server, at the same address.
func (s *Server) Start() error {
	if err := s.up(s.Database); err != nil {
		return fmt.Errorf("start %s again: %w", s.Engine, err)
	}
	return nil
}

// Kill ends the server like a crash, and returns when it is gone.
func (s *Server) Kill() { s.process.end(s.engine.crash()) }

// Stop ends the server and removes its data.
func (s *Server) Stop() error {
	if s.DB != nil {
		s.DB.Close() //nolint:errcheck // the server goes
	}
	if s.process != nil {
		s.process.end(s.engine.stop())
	}
	return os.RemoveAll(s.place.dir)
}

// Exec executes statements in the database as the administrator.
func (s *Server) Exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := s.DB.Exec(statement); err != nil {
			t.Fatalf("%s: %s: %v", s.Engine, statement, err)
		}
	}
}

// forTest ends a server with a test.
func forTest(t testing.TB, s *Server, err error) *Server {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop %s: %v", s.Engine, err)
		}
	})
	return s
}

func freePort() (int32, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return int32(listener.Addr().(*net.TCPAddr).Port), nil
}

// process is a running server.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	err  error
}

func start(p *place, cmd *exec.Cmd) (*process, error) {
	run := &process{cmd: cmd, log: filepath.Join(p.dir, "log"), done: make(chan struct{})}
	log, err := os.OpenFile(run.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the process has its own
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		run.err = cmd.Wait()
		close(run.done)
	}()
	return run, nil
}

func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// end ends the process, kills it if needed, and waits for it.
func (p *process) end(signal syscall.Signal) {
	p.cmd.Process.Signal(signal) //nolint:errcheck // it may be over
	select {
	case <-p.done:
	case <-time.After(patience / 2):
		p.cmd.Process.Kill() //nolint:errcheck // it may be over
		<-p.done
	}
}

// said is the end of the server's output.
func (p *process) said() string {
	log, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-20):], []byte("\n")))
}

// literal quotes a text for a statement. Only MariaDB interprets backslashes.
func literal(text string, backslashes bool) string {
	if backslashes {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

func portText(port int32) string { return strconv.Itoa(int(port)) }
