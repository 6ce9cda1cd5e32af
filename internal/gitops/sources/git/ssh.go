// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/fluxcd/pkg/ssh/knownhosts"
	"golang.org/x/crypto/ssh"
	"golang.org/x/net/proxy"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// dialTimeout limits connecting and the handshake; contexts limit the rest.
const dialTimeout = 30 * time.Second

// saidError is an error with the message of a server that ended the connection.
type saidError struct{ text string }

func (e *saidError) Error() string { return fmt.Sprintf("the server says %q", e.text) }

// sshRemote is a server with the protocol over SSH.
type sshRemote struct {
	endpoint *endpoint
	config   ssh.ClientConfig
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
}

func newSSH(e *endpoint) (*sshRemote, error) {
	key, err := signer(e.auth)
	if err != nil {
		return nil, e.failed("the private key (identity) cannot be read")
	}
	known, algorithms, err := knownhosts.New(e.auth.KnownHosts)
	if err != nil {
		return nil, e.failed("known_hosts cannot be read; its lines must have the format of ssh-keyscan")
	}
	if len(algorithms) == 1 && algorithms[0] == ssh.KeyAlgoRSA {
		algorithms = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSA}
	}
	r := &sshRemote{endpoint: e, dial: outbound.Dialer(dialTimeout).DialContext, config: ssh.ClientConfig{
		User:              e.auth.Username,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(key)},
		HostKeyAlgorithms: algorithms,
		HostKeyCallback: func(host string, address net.Addr, key ssh.PublicKey) error {
			if known(host, address, key) != nil {
				return &upstream.Problem{Reason: ReasonAuthentication, Text: fmt.Sprintf("the key of %s (%s) does not match known_hosts; "+
					"either known_hosts is out of date, or another server answers", host, ssh.FingerprintSHA256(key))}
			}
			return nil
		},
	}}
	if e.proxy == nil {
		return r, nil
	}
	if e.proxy.Scheme != "socks5" {
		return nil, e.failed("for ssh:// repositories, the proxy's address must begin with socks5://")
	}
	through, err := proxy.FromURL(e.proxy, outbound.Dialer(dialTimeout))
	dialer, ok := through.(proxy.ContextDialer)
	if err != nil || !ok {
		return nil, e.failed("the proxy's address cannot be used")
	}
	r.dial = dialer.DialContext
	return r, nil
}

func (r *sshRemote) list(ctx context.Context) (*advert, error) {
	s, err := r.open(ctx, uploadPack)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	given, err := readAdvert(s.out)
	if err != nil && !errors.Is(err, errEmpty) {
		return nil, s.explain(err)
	}
	// Like git, end the conversation by requesting nothing.
	if _, gone := io.WriteString(s.in, "0000"); given != nil {
		return given, s.explain(gone)
	}
	return nil, errors.Join(ended(s.out), err)
}

func (r *sshRemote) upload(ctx context.Context, _ *advert, ask func(*advert) ([]byte, error)) (io.ReadCloser, error) {
	return r.talk(ctx, uploadPack, ask)
}

func (r *sshRemote) receive(ctx context.Context, ask func(*advert) ([]byte, error)) (io.ReadCloser, error) {
	return r.talk(ctx, receivePack, ask)
}

// talk starts a service and sends it one message.
func (r *sshRemote) talk(ctx context.Context, service string, ask func(*advert) ([]byte, error)) (io.ReadCloser, error) {
	s, err := r.open(ctx, service)
	if err != nil {
		return nil, err
	}
	given, err := readAdvert(s.out)
	if err == nil {
		var body []byte
		if body, err = ask(given); err == nil {
			_, err = s.in.Write(body)
		}
	}
	if err != nil {
		return nil, errors.Join(s.explain(err), s.Close())
	}
	return s, nil
}

// sshSession is one command on a server.
type sshSession struct {
	in     io.WriteCloser
	out    io.Reader
	said   *stderr
	ended  func() error
	close  []func() error
	closed sync.Once
}

func (s *sshSession) Read(b []byte) (int, error) { return s.out.Read(b) }

func (s *sshSession) Close() error {
	s.closed.Do(func() {
		for _, one := range s.close {
			_ = one() // all needed data is read
		}
	})
	return nil
}

// explain adds the server's message to an error.
func (s *sshSession) explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		_ = s.ended() // it waits for the message, which explains the end
	}
	if text := s.said.String(); text != "" {
		return errors.Join(&saidError{text}, err)
	}
	return err
}

// open connects and starts a service. Everything ends with ctx.
func (r *sshRemote) open(ctx context.Context, service string) (*sshSession, error) {
	address := r.endpoint.url.Host
	if r.endpoint.url.Port() == "" {
		address = net.JoinHostPort(r.endpoint.url.Hostname(), "22")
	}
	conn, err := r.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	end := func() error { stop(); return conn.Close() }
	if err := conn.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return nil, errors.Join(err, end())
	}
	config := r.config
	shaken, channels, requests, err := ssh.NewClientConn(conn, address, &config)
	if err != nil {
		_ = end()
		if strings.Contains(err.Error(), "ssh: unable to authenticate") { // the library has no type for it
			return nil, fmt.Errorf("%w: %w", errKey, err)
		}
		return nil, err
	}
	client := ssh.NewClient(shaken, channels, requests)
	s := &sshSession{said: &stderr{}, close: []func() error{client.Close, end}}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	session, err := client.NewSession()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.close = append([]func() error{session.Close}, s.close...)
	session.Stderr, s.ended = s.said, session.Wait
	if s.in, err = session.StdinPipe(); err == nil {
		var out io.Reader
		out, err = session.StdoutPipe()
		s.out = bufio.NewReader(out)
	}
	if err == nil {
		err = session.Start(service + " " + quote(home(r.endpoint.url.Path)))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// home returns git's path for a URL below a home directory: ~/x for ssh://host/~/x.
func home(path string) string {
	if strings.HasPrefix(path, "/~") {
		return path[1:]
	}
	return path
}

// quote quotes a path for the server's shell.
func quote(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// stderr keeps the beginning of a server's messages.
type stderr struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *stderr) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if left := 300 - t.text.Len(); left > 0 {
		t.text.Write(b[:min(left, len(b))])
	}
	return len(b), nil
}

func (t *stderr) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return shorten.Line(t.text.String())
}
