# Lays out the program, its manual pages and completion scripts under a prefix:
#   make install PREFIX=$HOME/.local
PREFIX ?= /usr/local
DESTDIR ?=
ROOT = $(DESTDIR)$(PREFIX)

.PHONY: build static install uninstall

build:
	cargo build --release --locked

# A program that needs no library at run time, and starts faster, as target/HOST/release/bough: for releases.
static:
	RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --target "$$(rustc -vV | sed -n 's/^host: //p')"

install: build
	install -Dm755 "$$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/bough" "$(ROOT)/bin/bough"
	for page in man/*.1 man/*.5 man/*.7; do install -Dm644 "$$page" "$(ROOT)/share/man/man$${page##*.}/$${page##*/}"; done
	install -Dm644 completions/bough.bash "$(ROOT)/share/bash-completion/completions/bough"
	install -Dm644 completions/bough.zsh "$(ROOT)/share/zsh/site-functions/_bough"
	install -Dm644 completions/bough.fish "$(ROOT)/share/fish/vendor_completions.d/bough.fish"

uninstall:
	rm -f "$(ROOT)/bin/bough" "$(ROOT)/share/bash-completion/completions/bough" \
	  "$(ROOT)/share/zsh/site-functions/_bough" "$(ROOT)/share/fish/vendor_completions.d/bough.fish"
	for page in man/*.1 man/*.5 man/*.7; do rm -f "$(ROOT)/share/man/man$${page##*.}/$${page##*/}"; done
