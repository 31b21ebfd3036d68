# The hidden shell's side of its marks: what runs at its prompts, and the keys efr types.
#
# Read once by the .zshenv beside it, in plain zsh emulation, before any user file. It installs
# itself at the first prompt, after every startup file. Settings, written by efr next to it:
#   _efr_hs_nonce      in every mark, so that no other program's marks count
#   _efr_hs_zdotdir    the user's ZDOTDIR, empty when unset
#   _efr_hs_path_file  where PATH goes when it changed
#   _efr_hs_trusted    names that must mean the program and nothing else
# Marks: OSC 133 (A P B C D) and OSC 7, each ended by BEL.

builtin zmodload zsh/system zsh/parameter zsh/zle zsh/zleparameter
typeset -gi _efr_hs_tty=-1 _efr_hs_ran=0
typeset -g _efr_hs_path=
typeset -gr _efr_hs_host=$HOST
# Builtins that keep their name although a program of that name is trusted.
typeset -gra _efr_hs_kept=(cd pushd popd pwd echo printf which type command)

# The hidden shell completes nothing, so completion is never set up: that is slow, and asks about
# directories that others can write.
compinit() { :; }
compaudit() { :; }
compdef() { :; }

_efr_hs_arm() {
  # A startup file that assigns one of the two lists still leaves the other.
  typeset -ga precmd_functions periodic_functions
  precmd_functions+=(_efr_hs_precmd _efr_hs_options)
  periodic_functions+=(_efr_hs_precmd _efr_hs_options)
  typeset -gi PERIOD=1
}

# Before each primary prompt: says what ended, then makes the shell plain again.
_efr_hs_precmd() {
  local -i 10 code=$?
  (( _efr_hs_tty >= 0 )) || _efr_hs_install || builtin return 0
  _efr_hs_drain
  _efr_hs_say_directory
  if (( _efr_hs_ran )); then
    _efr_hs_ran=0
    _efr_hs_mark "D;$code"
  else
    _efr_hs_mark D
  fi
  # Output without a last newline is left alone: the blanks fill its row, and the prompt starts on
  # the next one. On an empty row they leave nothing.
  builtin print -nu $_efr_hs_tty -- "${(l:COLUMNS:: :)}"$'\r'
  _efr_hs_say_path
  _efr_hs_plain
}

# After a line was read and before it runs: the last thing printed before its output.
_efr_hs_preexec() {
  _efr_hs_ran=1
  _efr_hs_mark C
}

# A program that was killed while it printed a control string must not swallow the mark: CAN ends
# every unfinished sequence.
_efr_hs_mark() {
  builtin print -nu $_efr_hs_tty -- $'\x18\e]133;'"$1;aid=$_efr_hs_nonce"$'\a'
}

_efr_hs_install() {
  # Its own descriptor: a line such as `exec >file` must not take the marks along.
  builtin sysopen -w -o cloexec -u _efr_hs_tty -- "$TTY" || builtin return 1
  builtin ttyctl -f
  builtin unfunction compinit compaudit compdef 2>/dev/null
  builtin unset PERIOD
  _efr_hs_path=
  _efr_hs_unwatch
}

# Input that the ended command did not read is thrown away: it is nobody's, and may be a secret.
_efr_hs_drain() {
  local rest
  local -i most=16384  # four input buffers; keys that still come then do nothing at the prompt
  while (( most-- )) && builtin read -s -t 0 -k 1 rest; do :; done
}

# Each time, not only after a change: the mark right before `D` is the one that counts, whatever a
# program printed.
_efr_hs_say_directory() {
  [[ $PWD == *[[:cntrl:]]* ]] && builtin return 0
  builtin print -rnu $_efr_hs_tty -- $'\x18\e]7;kitty-shell-cwd://'"$_efr_hs_host$PWD"$'\a'
}

_efr_hs_say_path() {
  [[ $PATH != "$_efr_hs_path" ]] || builtin return 0
  _efr_hs_path=$PATH
  builtin print -rn -- "$PATH" >| "$_efr_hs_path_file" 2>/dev/null
}

# No user hook, no user key, no look of the prompt: they would run at moments nobody approved.
_efr_hs_plain() {
  precmd_functions=(_efr_hs_precmd _efr_hs_options)
  preexec_functions=(_efr_hs_preexec)
  chpwd_functions=()
  periodic_functions=()
  zshaddhistory_functions=()
  builtin unset 'functions[precmd]' 'functions[preexec]' 'functions[chpwd]' \
    'functions[periodic]' 'functions[zshaddhistory]' 2>/dev/null
  PS1=$'%{\e]133;A;cl=line;aid='"$_efr_hs_nonce"$'\a%}efr> %{\e]133;B;aid='"$_efr_hs_nonce"$'\a%}'
  PS2=$'%{\e]133;P;k=s;aid='"$_efr_hs_nonce"$'\a%}> %{\e]133;B;aid='"$_efr_hs_nonce"$'\a%}'
  builtin unset RPS1 RPS2 RPROMPT RPROMPT2 HISTFILE TMOUT PERIOD REPORTTIME REPORTMEMORY \
    zle_bracketed_paste 2>/dev/null
  typeset -g +x PS1 PS2  # they hold the nonce
  SAVEHIST=0
  MAILCHECK=0
  zle_highlight=(none)
  # A shell that ignores Ctrl+C could not be stopped, and a trap would run with later lines.
  builtin trap - INT QUIT TERM HUP DEBUG ZERR
  builtin unset 'functions[TRAPINT]' 'functions[TRAPQUIT]' 'functions[TRAPTERM]' \
    'functions[TRAPHUP]' 'functions[TRAPDEBUG]' 'functions[TRAPZERR]' 2>/dev/null
  _efr_hs_keys
  _efr_hs_tidy
}

# A keymap of efr's own, with nothing in it but what efr types: keys that come too late for the
# program that asked for them do nothing and show nowhere.
_efr_hs_keys() {
  local widget
  for widget in zle-line-init zle-line-pre-redraw zle-line-finish zle-history-line-set \
    zle-keymap-select zle-isearch-update zle-isearch-exit; do
    (( ! $+widgets[$widget] )) || builtin zle -D $widget
  done
  builtin zle -N _efr_hs_clear
  builtin zle -N _efr_hs_accept
  builtin zle -N _efr_hs_forget
  builtin zle -N _efr_hs_probe
  builtin bindkey -N _efr_hs
  builtin bindkey -M _efr_hs '^[[200~' .bracketed-paste '^[[9001~' _efr_hs_clear \
    '^[[9002~' .send-break '^[[9003~' _efr_hs_forget '^[[9004~' _efr_hs_accept \
    '^[[9005~' _efr_hs_probe
  builtin bindkey -A _efr_hs main
}

_efr_hs_clear() { BUFFER=; }

# The last moment before zsh reads the line, and with it expands aliases. The mark says that the
# line was taken: what zsh prints between it and the next `C` or `D` is about this line.
_efr_hs_accept() {
  _efr_hs_tidy
  _efr_hs_mark 'P;k=r'
  builtin zle .accept-line
}

# Says that every key typed before it was read. A line whose keys a Ctrl+C swallowed is typed again.
_efr_hs_probe() { _efr_hs_mark 'P;k=c'; }

# Passwords that sudo and doas remember for this terminal are forgotten, without a word. The prompt
# is drawn again: its marks tell efr that this is done.
_efr_hs_forget() {
  (( ! $+commands[sudo] )) || command sudo -k </dev/null >/dev/null 2>&1
  (( ! $+commands[doas] )) || command doas -L </dev/null >/dev/null 2>&1
  builtin zle .reset-prompt
}

# Words must mean what they say: see the list of names in the settings.
_efr_hs_tidy() {
  cdpath=()
  builtin hash -r
  (( ! $#saliases )) || builtin unalias -s -- ${(k)saliases}
  local -aU names=(${(k)galiases} ${${(k)aliases}:*_efr_hs_trusted})
  (( ! $#names )) || builtin unalias -- $names
  names=(${${(k)functions}:*_efr_hs_trusted})
  (( ! $#names )) || builtin unfunction -- $names
  names=(${${(k)builtins}:*_efr_hs_trusted})
  names=(${names:|_efr_hs_kept})
  (( ! $#names )) || builtin disable -- $names
}

# Descriptors that plugins watch while the line editor waits.
_efr_hs_unwatch() {
  local line
  for line in ${(f)"$(builtin zle -F -L)"}; do
    builtin zle -F ${${(z)line}[-2]} 2>/dev/null
  done
}
