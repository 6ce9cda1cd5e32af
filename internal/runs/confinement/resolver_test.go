// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

func init() { parts["resolving"], parts["query"] = resolving, query }

// nameServer is a DNS server on loopback with a few records.
type nameServer struct {
	mu sync.Mutex
	// asked has the queries, with the protocol before each.
	asked []string
}

// longText does not fit into a datagram.
var longText = strings.Repeat("x", 200)

// startNameServer listens on an address of loopback that nothing else has, on the port of all name
// servers.
func startNameServer(t *testing.T) (*nameServer, string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can be a name server")
	}
	address := fmt.Sprintf("127.53.%d.%d", os.Getpid()>>8&255, os.Getpid()&255)
	datagrams, err := net.ListenPacket("udp", address+":53")
	if err != nil {
		t.Fatalf("be a name server: %v", err)
	}
	t.Cleanup(func() { datagrams.Close() })
	streams, err := net.Listen("tcp", address+":53")
	if err != nil {
		t.Fatalf("be a name server: %v", err)
	}
	t.Cleanup(func() { streams.Close() })
	s := &nameServer{}
	go func() {
		piece := make([]byte, 1<<16)
		for {
			n, from, err := datagrams.ReadFrom(piece)
			if err != nil {
				return
			}
			_, _ = datagrams.WriteTo(s.reply("udp", piece[:n]), from)
		}
	}()
	go func() {
		for {
			conn, err := streams.Accept()
			if err != nil {
				return
			}
			var length [2]byte
			_, err = io.ReadFull(conn, length[:])
			message := make([]byte, binary.BigEndian.Uint16(length[:]))
			if _, more := io.ReadFull(conn, message); errors.Join(err, more) == nil {
				reply := s.reply("tcp", message)
				_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
			}
			conn.Close()
		}
	}()
	return s, address
}

func (s *nameServer) reply(protocol string, text []byte) []byte {
	s.mu.Lock()
	s.asked = append(s.asked, protocol+string(text))
	s.mu.Unlock()
	var message dnsmessage.Message
	if message.Unpack(text) != nil || len(message.Questions) != 1 {
		return text
	}
	q := message.Questions[0]
	message.Response, message.Additionals = true, nil
	add := func(body dnsmessage.ResourceBody) {
		message.Answers = append(message.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}, Body: body})
	}
	switch name := q.Name.String(); {
	case name == "known.example.test." && q.Type == dnsmessage.TypeA:
		add(&dnsmessage.AResource{A: [4]byte{192, 0, 2, 10}})
	case name == "known.example.test.":
	case name == "text.example.test." && q.Type == dnsmessage.TypeTXT:
		add(&dnsmessage.TXTResource{TXT: []string{"hello"}})
	case name == "long.example.test." && protocol == "udp":
		message.Truncated = true
	case name == "long.example.test.":
		for range 20 {
			add(&dnsmessage.TXTResource{TXT: []string{longText}})
		}
	default:
		message.RCode = dnsmessage.RCodeNameError
	}
	packed, err := message.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// bindResolver shows other files as those of the machine's resolver.
func bindResolver(dir string) error {
	for _, name := range []string{"resolv.conf", "hosts"} {
		if err := unix.Mount(filepath.Join(dir, name), "/etc/"+name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("show another /etc/%s: %w", name, err)
		}
	}
	return nil
}

// resolving starts a program that resolves names, with the real relay.
func resolving(s scene) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	walls, cell, err := enter(ctx, s, "resolving")
	if err != nil {
		return err
	}
	if err := walls.ProbeTunnel(ctx); err != nil {
		return err
	}
	cell.NoNetwork, cell.Relay = true, &Relay{Allow: s.Allow}
	cell.Readable = append(cell.Readable, "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")
	cmd := walls.Command(ctx, cell, s.Self)
	cmd.Env = append(s.environment("query"), "HOME="+walls.HomeOf(cell), "TMPDIR="+walls.TempOf(cell))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	done, err := walls.StartRelay(cell, cmd)
	if err != nil {
		return err
	}
	running, err := Start(cmd)
	done()
	if err != nil {
		return err
	}
	return running.Wait(10 * time.Second)
}

// query resolves names, and prints what came.
func query(scene) error {
	got := map[string]string{}
	note := func(what string, answers []string, err error) {
		var problem *net.DNSError
		switch {
		case errors.As(err, &problem):
			answers = []string{problem.Err}
		case err != nil:
			answers = []string{err.Error()}
		}
		got[what] = strings.Join(answers, " ")
	}
	for _, name := range []string{"known.example.test", "hosted.example.test", "missing.example.test", "known.example.org"} {
		answers, err := net.LookupHost(name)
		note(name, answers, err)
	}
	for _, name := range []string{"text.example.test", "long.example.test", "text.example.org"} {
		answers, err := net.LookupTXT(name)
		note("TXT "+name, answers, err)
	}
	for _, names := range [][]string{{"text.example.test."}, {"text.example.test.", "secret.example.org."}} {
		answer, err := exchangeRaw(names)
		note(fmt.Sprintf("%d questions", len(names)), []string{answer}, err)
	}
	return json.NewEncoder(os.Stdout).Encode(got)
}

// exchangeRaw sends a query with data after it, and returns the code of the reply.
func exchangeRaw(names []string) (string, error) {
	message := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}}
	for _, name := range names {
		message.Questions = append(message.Questions, dnsmessage.Question{Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeTXT, Class: dnsmessage.ClassINET})
	}
	packed, err := message.Pack()
	if err != nil {
		return "", err
	}
	conn, err := net.Dial("udp", "198.18.0.1:53")
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	if _, err := conn.Write(append(packed, "secret"...)); err != nil {
		return "", err
	}
	piece := make([]byte, 512)
	n, err := conn.Read(piece)
	if err != nil {
		return "", err
	}
	var reply dnsmessage.Message
	err = reply.Unpack(piece[:n])
	return reply.RCode.String(), err
}

// TestNamesOfTheRealRelay resolves names with yuba-network itself, and the machine's files for
// resolvers replaced.
func TestNamesOfTheRealRelay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can replace the files of the machine's resolver")
	}
	programs := filepath.Join(theStage.dir, "real")
	if err := errors.Join(os.Mkdir(programs, 0o755), os.Link(theStage.sandbox, filepath.Join(programs, "yuba-sandbox"))); err != nil {
		t.Fatal(err)
	}
	if err := buildProgram(filepath.Join(programs, relayName), "github.com/yuba-dev/yuba/cmd/yuba-network"); err != nil {
		t.Fatal(err)
	}
	server, address := startNameServer(t)
	want := map[string]string{
		"known.example.test": "192.0.2.10", "hosted.example.test": "192.0.2.11", "missing.example.test": "no such host", "known.example.org": "no such host",
		"TXT text.example.test": "hello", "TXT long.example.test": strings.TrimSpace(strings.Repeat(longText+" ", 20)), "TXT text.example.org": "no such host",
		"1 questions": "RCodeSuccess", "2 questions": "RCodeFormatError",
	}
	for _, m := range modes {
		if m.name != "root" && m.name != "a user" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			s := scene{Dir: sceneDir(t, m), Device: everybodys, Sandbox: filepath.Join(programs, "yuba-sandbox"), Allow: []string{"*.example.test"}}
			s.Resolver = filepath.Join(programs, strings.ReplaceAll(m.name, " ", "-"))
			if err := errors.Join(os.Mkdir(s.Resolver, 0o755),
				os.WriteFile(filepath.Join(s.Resolver, "resolv.conf"), []byte("nameserver "+address+"\nsearch example.org\n"), 0o644),
				os.WriteFile(filepath.Join(s.Resolver, "hosts"), []byte("192.0.2.11 hosted.example.test\n192.0.2.12 known.example.org\n"), 0o644)); err != nil {
				t.Fatal(err)
			}
			var got map[string]string
			if err := json.Unmarshal([]byte(inMode(t, m, "resolving", s)), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	streams := 0
	for _, query := range server.asked {
		if strings.HasPrefix(query, "tcp") {
			streams++
		}
		if bytes.Contains([]byte(query), []byte("secret")) || strings.Contains(query, "\x07example\x03org") {
			t.Errorf("the name server got %q", query)
		}
	}
	if len(server.asked) == 0 || streams != 2 {
		t.Errorf("%d queries, %d of them over TCP", len(server.asked), streams)
	}
}
