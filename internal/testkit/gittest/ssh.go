// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gittest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// sshServer runs git upload-pack for clients with an admitted key.
type sshServer struct {
	listener net.Listener
	config   *ssh.ServerConfig
	host     ssh.PublicKey

	mu       sync.Mutex
	admitted map[string]bool
	conns    map[net.Conn]bool
}

// Authorize creates and admits a key pair, and returns the private key in PEM.
func (s *Server) Authorize(t T) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatalf("create an ssh key: %v", err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatalf("create an ssh key: %v", err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatalf("write an ssh key: %v", err)
	}
	s.ssh.mu.Lock()
	defer s.ssh.mu.Unlock()
	s.ssh.admitted[string(key.Marshal())] = true
	return pem.EncodeToMemory(block)
}

// SSHURL returns the ssh URL of a repository.
func (s *Server) SSHURL(repository string) string {
	return fmt.Sprintf("ssh://git@%s/%s.git", s.ssh.listener.Addr(), repository)
}

// KnownHosts returns the line of a known_hosts file with the server's host key.
func (s *Server) KnownHosts() []byte {
	host, port, _ := net.SplitHostPort(s.ssh.listener.Addr().String()) //nolint:errcheck // a listener's address has both
	return []byte(fmt.Sprintf("[%s]:%s %s", host, port, ssh.MarshalAuthorizedKey(s.ssh.host)))
}

func (h *sshServer) start(s *Server) error {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return err
	}
	h.host, h.admitted, h.conns = signer.PublicKey(), map[string]bool{}, map[net.Conn]bool{}
	h.config = &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.admitted[string(key.Marshal())] {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	h.config.AddHostKey(signer)
	if h.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	go h.accept(s)
	return nil
}

func (h *sshServer) stop() {
	h.listener.Close() //nolint:errcheck // it ends with the test
	h.mu.Lock()
	defer h.mu.Unlock()
	for conn := range h.conns {
		conn.Close() //nolint:errcheck // it ends with the test
	}
}

func (h *sshServer) accept(s *Server) {
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return
		}
		h.mu.Lock()
		h.conns[conn] = true
		h.mu.Unlock()
		go func() {
			defer conn.Close() //nolint:errcheck // it may be gone already
			h.converse(s, conn)
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.conns, conn)
		}()
	}
}

func (h *sshServer) converse(s *Server, conn net.Conn) {
	_, channels, requests, err := ssh.NewServerConn(conn, h.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		if offered.ChannelType() != "session" {
			offered.Reject(ssh.UnknownChannelType, "only sessions") //nolint:errcheck // the client is gone
			continue
		}
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go h.session(s, channel, requests)
	}
}

// session runs the one command of the protocol, exec.
func (h *sshServer) session(s *Server, channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close() //nolint:errcheck // the client may be gone
	var protocol string
	for request := range requests {
		switch request.Type {
		case "env":
			var env struct{ Name, Value string }
			if ssh.Unmarshal(request.Payload, &env) == nil && env.Name == "GIT_PROTOCOL" {
				protocol = env.Value
			}
			request.Reply(true, nil) //nolint:errcheck // the client is gone
		case "exec":
			var command struct{ Line string }
			if err := ssh.Unmarshal(request.Payload, &command); err != nil {
				request.Reply(false, nil) //nolint:errcheck // the client is gone
				return
			}
			request.Reply(true, nil) //nolint:errcheck // the client is gone
			status := s.uploadPack(command.Line, protocol, channel)
			channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status})) //nolint:errcheck // the client is gone
			return
		default:
			request.Reply(false, nil) //nolint:errcheck // the client is gone
		}
	}
}

// SetTalk replaces git over ssh by a function; nil restores git.
func (s *Server) SetTalk(talk func(io.ReadWriter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.talk = talk
}

func (s *Server) uploadPack(line, protocol string, channel ssh.Channel) uint32 {
	program, argument, _ := strings.Cut(line, " ")
	repository := strings.TrimSuffix(strings.Trim(argument, "'/ "), ".git")
	if strings.Contains(repository, "..") || program != "git-upload-pack" && (program != "git-receive-pack" || !s.writable) {
		fmt.Fprintf(channel.Stderr(), "only git-upload-pack of a repository is served\n")
		return 1
	}
	if program == "git-receive-pack" {
		return s.receivePack(repository, channel)
	}
	s.count(repository, func(c *Counts) { c.Lookups++ })
	s.mu.Lock()
	talk := s.talk
	s.mu.Unlock()
	if talk != nil {
		talk(channel)
		return 0
	}
	c := &conversation{server: s, repository: repository}
	command := exec.Command("git", "-c", "safe.directory=*", "upload-pack", s.bare(repository))
	command.Env = s.environment()
	if protocol != "" {
		command.Env = append(command.Env, "GIT_PROTOCOL="+protocol)
	}
	command.Stdout, command.Stderr = io.MultiWriter(listener(c.answered), channel), channel.Stderr()
	// Not command.Stdin: Wait would wait for the client, which may keep its side open.
	in, err := command.StdinPipe()
	if err != nil {
		return 1
	}
	if err := command.Start(); err != nil {
		return 1
	}
	go func() {
		defer in.Close()                                     //nolint:errcheck // git may have ended
		io.Copy(in, io.TeeReader(channel, listener(c.said))) //nolint:errcheck // the client or git may end first
	}()
	if err := command.Wait(); err != nil {
		return 1
	}
	return 0
}

// receivePack accepts a push.
func (s *Server) receivePack(repository string, channel ssh.Channel) uint32 {
	command := exec.Command("git", "-c", "safe.directory=*", "-c", "receive.advertisePushOptions=true", "receive-pack", s.bare(repository))
	command.Env = s.environment()
	command.Stdout, command.Stderr = channel, channel.Stderr()
	in, err := command.StdinPipe()
	if err != nil || command.Start() != nil {
		return 1
	}
	go func() {
		defer in.Close()     //nolint:errcheck // git may have ended
		io.Copy(in, channel) //nolint:errcheck // the client or git may end first
	}()
	if command.Wait() != nil {
		return 1
	}
	return 0
}
