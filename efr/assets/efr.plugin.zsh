# efr's zsh plugin: a line that starts with a comma goes to the agent.
#
# It passes text on and reports what the shell knows. It runs no program while it draws a prompt,
# decides nothing about scopes or permissions, and does nothing in the agent's own shells.
# docs/terminal.md tells how a `,` line is taken before zsh parses it, and why.

[[ -o interactive ]] || return 0
[[ -z ${EFR_HIDDEN_SHELL-}${EFR_SANDBOX-} ]] || return 0

# Aliases and some options change what zsh reads below: they are off until the end of this file.
'builtin' 'typeset' '-ga' '_efr_loading_without'
_efr_loading_without=()
'builtin' 'typeset' '-g' '_efr_name'
for _efr_name in aliases csh_junkie_quotes err_exit err_return glob_assign glob_subst \
    ignore_braces ignore_close_braces ksh_arrays ksh_glob ksh_typeset no_unset posix_identifiers \
    rc_quotes sh_file_expansion sh_glob sh_word_split warn_create_global warn_nested_var; do
  [[ -o $_efr_name ]] || continue
  _efr_loading_without+=("$_efr_name")
  'builtin' 'unsetopt' "$_efr_name"
done

zmodload zsh/datetime

# --- State. Sourcing the file again keeps it. ------------------------------------------------

if (( ! ${+_efr_loaded_at} )); then
  typeset -g  _efr_loaded_at=$EPOCHSECONDS
  typeset -g  _efr_sticky=           # 1 while every line goes to the agent
  typeset -g  _efr_text= _efr_taken=  # the prompt that the line editor handed over
  typeset -g  _efr_comments=         # on or off: what the line that runs needs
  typeset -g  _efr_was_comments= _efr_was_bang=  # the user's options from before that line
  typeset -g  _efr_kind=             # what runs: ours, other, or nothing
  typeset -g  _efr_line= _efr_started=
  typeset -g  _efr_last= _efr_last_status=
  typeset -ga _efr_recent            # JSON objects, oldest first
  typeset -g  _efr_new_wish=
  typeset -gA _efr_set               # mode, model, effort of this terminal
  typeset -gi _efr_count=0
  typeset -g  _efr_drafts_due=
  typeset -ga _efr_models            # for completion, and when they were read
  typeset -gi _efr_models_at=0
  _efr_set=(mode "${EFR_MODE-}" model "${EFR_MODEL-}" effort "${EFR_EFFORT-}")
fi

# The command words, and the function that serves each. `text` words take a prompt.
typeset -gA _efr_words=(
  ','        _efr_do_send
  ',new'     _efr_do_new
  ',!'       _efr_do_steer
  ',resume'  _efr_do_resume
  ',compact' _efr_do_compact
  ',context' _efr_do_context
  ',away'    _efr_do_away
  ',mode'    _efr_do_mode
  ',model'   _efr_do_model
  ',effort'  _efr_do_effort
)
typeset -ga _efr_text_words=(',' ',new' ',!' ',resume' ',compact')
typeset -ga _efr_typo_words=(model mode effort compact context resume away)

# An alias ends in a comment sign. `noglob`: in a line whose comments are off, `#` is an argument.
typeset -g _efr_alias_of_send='noglob _efr_do_send #'

# --- Small helpers. Each answers in REPLY. ---------------------------------------------------

_efr_runtime() {
  emulate -L zsh
  REPLY=
  if [[ -n ${EFR_RUNTIME_DIR-} ]]; then REPLY=$EFR_RUNTIME_DIR
  elif [[ -n ${EFR_HOME-} ]]; then REPLY=$EFR_HOME/runtime
  elif [[ ${XDG_RUNTIME_DIR-} == /* ]]; then REPLY=$XDG_RUNTIME_DIR/efr
  else
    local -a own=(/run/user/$UID(N/Uf700))
    (( $#own )) && REPLY=$own[1]/efr
  fi
  [[ $REPLY == /* ]] || REPLY=
}

_efr_installed() {
  whence -p efr >/dev/null && return 0
  print -ru2 -- "efr: the program efr is not on your PATH"
  return 127
}

# The text without blanks around it. `%%[[:space:]]#` takes seconds for a pasted log.
_efr_trim() {
  emulate -L zsh -o extended_glob
  local -a match mbegin mend
  REPLY=
  if [[ ${1##[[:space:]]#} == (#b)(*[^[:space:]])[[:space:]]# ]]; then REPLY=$match[1]; fi
}

# A JSON string; an empty second argument with -n gives null.
_efr_json() {
  emulate -L zsh
  local text=$1
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  if [[ $text == *[[:cntrl:]]* ]]; then
    text=${text//$'\n'/\\n}
    text=${text//$'\t'/\\t}
    local -i code
    local hex
    for code in {1..31} 127; do
      printf -v hex '%02x' $code
      text=${text//${(#)code}/\\u00$hex}
    done
  fi
  REPLY="\"$text\""
}

_efr_json_or_null() {
  if [[ -n $1 ]]; then _efr_json "$1"; else REPLY=null; fi
}

_efr_number_or_null() {
  if [[ $1 == (|-)<-> ]]; then REPLY=$1; else REPLY=null; fi
}

_efr_context() {
  emulate -L zsh
  local out name var
  _efr_json "$PWD";                             out="{\"pwd\":$REPLY"
  _efr_json_or_null "${OLDPWD-}";               out+=",\"oldpwd\":$REPLY"
  _efr_json_or_null "${TTY-}";                  out+=",\"tty\":$REPLY"
  out+=",\"shell_pid\":$$"
  _efr_number_or_null "$_efr_last_status";      out+=",\"last_status\":$REPLY"
  _efr_number_or_null "${SHLVL-}";              out+=",\"shlvl\":$REPLY"
  _efr_json_or_null "${SSH_CONNECTION-}";       out+=",\"ssh_connection\":$REPLY"
  _efr_json_or_null "${HOST-}";                 out+=",\"hostname\":$REPLY"
  local desktop=
  for name var in wayland_display WAYLAND_DISPLAY display DISPLAY \
      hyprland_instance_signature HYPRLAND_INSTANCE_SIGNATURE swaysock SWAYSOCK \
      i3sock I3SOCK niri_socket NIRI_SOCKET; do
    [[ -n ${(P)var-} ]] || continue
    _efr_json "${(P)var}"
    desktop+="${desktop:+,}\"$name\":$REPLY"
  done
  if [[ -n $desktop ]]; then
    [[ -z ${XAUTHORITY-} ]] || desktop+=',"has_xauthority":true'
    out+=",\"desktop\":{$desktop}"
  fi
  REPLY="$out}"
}

# --- Running efr -----------------------------------------------------------------------------

# _efr_run VERB... : the text is $_efr_prompt. Everything private goes in the environment of this
# one process, never in its arguments: any user of the machine can read a command line.
_efr_run() {
  emulate -L zsh
  _efr_installed || return
  local context recent="[${(j:,:)_efr_recent}]" last=$_efr_last prompt=$_efr_prompt file= draft=
  local mode=$_efr_set[mode] model=$_efr_set[model] effort=$_efr_set[effort]
  if [[ $1 == (resume|compact|context|away) || $2 == --steer ]]; then
    mode= model= effort= last= recent=
  fi
  _efr_context; context=$REPLY
  _efr_runtime; local runtime=$REPLY
  if [[ -n $runtime ]]; then
    _efr_draft_name; draft=$runtime/drafts/$REPLY
    # Linux refuses one variable above 128 KiB.
    local -i bytes=0
    (( ${#prompt} <= 24576 )) || (){ emulate -L zsh -o no_multibyte; bytes=$#prompt }
    if (( bytes > 98304 )); then
      zmodload -F zsh/files b:zf_mkdir b:zf_rm
      zf_mkdir -p -m 700 $runtime/handover 2>/dev/null
      file=$runtime/handover/${draft:t}
      ( umask 077; print -rn -- "$prompt" >|$file ) 2>/dev/null
      zmodload -F zsh/stat b:zstat
      local -a written
      zstat -A written +size $file 2>/dev/null
      if (( ${written[1]:-0} != bytes )); then  # a full disk is no error of print
        zf_rm -f $file
        print -ru2 -- "efr: the prompt does not fit into $runtime/handover"
        return 1
      fi
      prompt=
    fi
  fi
  _efr_drafts_due=1
  EFR_CONTEXT=$context EFR_LAST_COMMAND=$last EFR_RECENT_COMMANDS=$recent \
    EFR_PROMPT=$prompt EFR_PROMPT_FILE=$file EFR_DRAFT_FILE=$draft \
    EFR_MODE=$mode EFR_MODEL=$model EFR_EFFORT=$effort command efr "$@"
}

# What a command function was given: the text that the line editor saved, else its arguments.
# An argument that is only `#` is the comment sign of the alias.
_efr_take() {
  if [[ -n $_efr_taken ]]; then
    REPLY=$_efr_text
  else
    [[ ${1-} == '#' ]] && shift
    REPLY="${(j: :)@}"
  fi
  _efr_taken= _efr_text=
}

_efr_do_send() {
  emulate -L zsh
  _efr_take "$@"
  local _efr_prompt=$REPLY
  if [[ $_efr_prompt != *[^[:space:]]* ]]; then
    print -ru2 -- 'usage: , <prompt>    (, alone, as a line of its own, toggles sticky mode)'
    return 2
  fi
  if [[ -z $_efr_new_wish ]]; then
    _efr_run send
    return
  fi
  _efr_start_new
}

_efr_do_new() {
  emulate -L zsh
  _efr_take "$@"
  local _efr_prompt=$REPLY
  if [[ $_efr_prompt == *[^[:space:]]* ]]; then
    _efr_start_new
    return
  fi
  _efr_new_wish=1
  print -ru2 -- 'the next , line starts a new conversation'
}

_efr_start_new() {
  local -i result
  _efr_run new
  result=$?
  # 2 and 3: nothing started (usage, no daemon), so the wish stays; 127: efr is missing.
  (( result == 2 || result == 3 || result == 127 )) || _efr_new_wish=
  return result
}

_efr_do_steer() {
  emulate -L zsh
  _efr_take "$@"
  local _efr_prompt=$REPLY
  if [[ $_efr_prompt != *[^[:space:]]* ]]; then
    print -ru2 -- 'usage: ,! <text for the running turn>'
    return 2
  fi
  _efr_run send --steer
}

# What stands behind `,resume` (a row, an id, words) is text like a prompt: zsh never reads it.
_efr_do_resume() {
  emulate -L zsh
  _efr_take "$@"
  local _efr_prompt=$REPLY
  _efr_run resume || return
  _efr_new_wish=  # a conversation was chosen, so the next line starts none
}

# The text is what the summary must keep.
_efr_do_compact() {
  emulate -L zsh
  _efr_take "$@"
  local _efr_prompt=$REPLY
  _efr_run compact
}

_efr_do_context() {
  emulate -L zsh
  [[ ${1-} == '#' ]] && shift
  if (( $# > 1 )); then
    print -ru2 -- 'usage: ,context [conversation id]'
    return 2
  fi
  local _efr_prompt=
  _efr_run context "$@"
}

_efr_do_away() {
  emulate -L zsh
  [[ ${1-} == '#' ]] && shift
  if (( $# )); then
    print -ru2 -- 'usage: ,away'
    return 2
  fi
  local _efr_prompt=
  _efr_run away
}

_efr_do_mode()   { _efr_setting mode "$@" }
_efr_do_model()  { _efr_setting model "$@" }
_efr_do_effort() { _efr_setting effort "$@" }

# _efr_setting NAME [VALUE]: shows or sets a value of this terminal; efr says whether it fits.
_efr_setting() {
  emulate -L zsh
  local name=$1; shift
  [[ ${1-} == '#' ]] && shift
  if (( $# > 1 )); then
    print -ru2 -- "usage: ,$name [value | default]"
    return 2
  fi
  _efr_installed || return
  local -A want=("${(@kv)_efr_set}")
  if (( $# )); then
    [[ $1 == default ]] && want[$name]= || want[$name]=$1
  fi
  local out
  out=$(EFR_MODE= EFR_MODEL= EFR_EFFORT= command efr settings ${want[mode]:+--mode=$want[mode]} \
    ${want[model]:+--model=$want[model]} ${want[effort]:+--effort=$want[effort]}) || return
  _efr_set=("${(@kv)want}")
  local -a line=("${(@M)${(f)out}:#$name = *}")
  [[ -z $want[$name] ]] || line=("${(@)line/\# flag/# this terminal}")
  print -rl -- $line
}

# --- Completion of the one word behind ,mode ,model ,effort ----------------------------------

_efr_complete() {
  emulate -L zsh
  (( CURRENT == 2 )) || return 1
  local -a values
  case $words[1] in
    (,mode) values=(manual cautious auto full) ;;
    (,model)
      if (( EPOCHSECONDS - _efr_models_at >= 60 )); then
        _efr_models=(${(f)"$(command efr models --names 2>/dev/null </dev/null)"})
        _efr_models_at=$EPOCHSECONDS
      fi
      values=($_efr_models) ;;
    (,effort)
      local out
      out=$(EFR_MODE= EFR_MODEL= EFR_EFFORT= command efr settings \
        ${_efr_set[model]:+--model=$_efr_set[model]} 2>/dev/null </dev/null)
      local line=${${(M)${(f)out}:#effort = *}[1]}
      [[ $line == *'; '* ]] && values=(${(s:, :)line##*; }) ;;
  esac
  compadd -V efr -- default $values
}

# The user's own start-up may load the completion system late, or anew.
_efr_register() {
  emulate -L zsh
  (( ${+functions[compdef]} )) || return 0
  local word=,mode
  (( ${+_comps[$word]} )) || compdef _efr_complete ,mode ,model ,effort
}

# --- Text that comes back, and notices -------------------------------------------------------

_efr_draft_name() {
  emulate -L zsh
  if (( ! ${+_efr_namespace} )); then
    zmodload -F zsh/stat b:zstat
    local -a target
    zstat -A target +link /proc/self/ns/pid 2>/dev/null
    typeset -g _efr_namespace=${${target[1]-}//[^0-9]/}
  fi
  (( _efr_count += 1 ))
  zmodload zsh/system
  REPLY=$$-$_efr_loaded_at-${_efr_namespace:-0}-$_efr_count
  [[ $sysparams[pid] == $$ ]] || REPLY+=-$sysparams[pid]
}

_efr_take_drafts() {
  emulate -L zsh
  _efr_runtime
  [[ -n $REPLY && -d $REPLY/drafts ]] || return 0
  local file text=
  # Oldest first: n sorts the counter as a number.
  for file in $REPLY/drafts/$$-$_efr_loaded_at-*(N.Uon); do
    zmodload -F zsh/files b:zf_rm
    local one=$(<$file)
    zf_rm -f $file
    [[ $one != *[^[:space:]]* ]] || text+="${text:+$'\n'}$one"
  done
  [[ -z $text ]] || print -rz -- ", $text"
}

# Files of shells that are gone go when the plugin loads.
_efr_drop_dead_drafts() {
  emulate -L zsh
  _efr_runtime
  [[ -n $REPLY ]] || return 0
  local -a files=($REPLY/drafts/*(N.U))
  (( $#files )) || return 0
  local dir=$REPLY/drafts file
  _efr_draft_name
  zmodload -F zsh/files b:zf_rm
  for file in $files; do
    [[ ${file:t} == <->-<->-$_efr_namespace-* ]] || continue
    kill -0 ${${file:t}%%-*} 2>/dev/null || zf_rm -f $file
  done
}

_efr_show_notices() {
  emulate -L zsh
  local name=${${TTY-}#/dev/}
  name=${name//\//-}
  [[ -n $name && $name != *[^A-Za-z0-9._-]* ]] || return 0
  _efr_runtime
  local file=$REPLY/notices/$name
  [[ -n $REPLY && -s $file ]] || return 0
  zmodload -F zsh/files b:zf_mv b:zf_rm
  zmodload -F zsh/stat b:zstat
  local -a changed
  # Renamed first, so that a line that arrives meanwhile goes to a new file.
  zf_mv -f $file $file.$$ 2>/dev/null || return 0
  zstat -A changed +mtime $file.$$ 2>/dev/null
  if (( ${changed[1]-0} >= _efr_loaded_at )); then
    print -rl -- ${(V)${(f)"$(<$file.$$)"}}
  fi
  zf_rm -f $file.$$
}

# --- The line editor -------------------------------------------------------------------------

_efr_indicator() {
  emulate -L zsh -o extended_glob
  if (( ${+EFR_STICKY_INDICATOR} )); then REPLY=$EFR_STICKY_INDICATOR
  elif [[ ${LC_ALL:-${LC_CTYPE:-${LANG-}}} == (#i)*utf(-|)8* ]]; then REPLY='🤖 '
  else REPLY='efr> '
  fi
}

# The word that stands before an accepted line of sticky mode: the robot, when it can be an alias
# of `,`, else `,` itself.
_efr_robot_word() {
  emulate -L zsh -o extended_glob
  _efr_indicator
  local word=${${REPLY##[[:space:]]#}%%[[:space:]]#}
  REPLY=','
  [[ -n $word && $word != *[[:space:][:cntrl:]\;\&\|\<\>\(\)\{\}\$\`\"\'\\\#\*\?\[\]\~\!=]* ]] || return 0
  if [[ ${aliases[$word]-} == $_efr_alias_of_send ]]; then
    REPLY=$word
  elif ! whence -- $word >/dev/null; then
    alias -- "$word=$_efr_alias_of_send"
    REPLY=$word
  fi
}

# The scope of $PWD from the file that efrd keeps: root, tab, name on each line. A hint only.
_efr_scope_name() {
  emulate -L zsh
  local line root best= here=${PWD:P}  # the roots stand there without links
  REPLY=
  _efr_runtime
  local file=$REPLY/scopes
  REPLY='○'
  [[ -r $file ]] || return 0
  for line in ${(f)"$(<$file)"}; do
    root=${line%%$'\t'*}
    [[ $here == $root || $here == ${root%/}/* ]] && (( $#root > $#best )) || continue
    best=$root
    REPLY=${line#*$'\t'}
  done
}

_efr_show_tag() {
  emulate -L zsh -o extended_glob
  region_highlight=("${(@)region_highlight:#*memo=efr}")
  PREDISPLAY=
  [[ -n $_efr_sticky && $CONTEXT == start ]] || return 0
  local -a values=(${_efr_set[mode]} ${_efr_set[model]} ${_efr_set[effort]})
  local settings="${(j: :)values}"
  settings="${settings:+$settings }"
  _efr_indicator; local robot=$REPLY
  _efr_scope_name; local scope="$REPLY › "
  [[ ${LC_ALL:-${LC_CTYPE:-${LANG-}}} == (#i)*utf(-|)8* ]] || scope=
  PREDISPLAY=$settings$robot$scope
  local -i a=$#settings b=$(( $#settings + $#robot )) c=$#PREDISPLAY
  local tag=${EFR_TAG_STYLE:-fg=8}
  region_highlight+=("P0 $a $tag memo=efr" "P$a $b ${EFR_STICKY_STYLE:-fg=magenta} memo=efr"
    "P$b $c $tag memo=efr")
}

_efr_toggle_sticky() {
  emulate -L zsh
  if ! whence -p efr >/dev/null; then
    zle -M 'efr: the program efr is not on your PATH'
    return 0
  fi
  if [[ -n $_efr_sticky ]]; then _efr_sticky=; else _efr_sticky=1; fi
  _efr_show_tag
}

# Whether zsh could run the word: then it is the user's own and stays as it is.
_efr_runs() { whence -- "$1" >/dev/null }

# A word one edit away from a command word, or the letters of `new` in another order: REPLY.
_efr_typo_of() {
  emulate -L zsh
  local word=$1 meant a b
  local -i i
  REPLY=
  [[ -n $word && $word != *[^a-z]* ]] || return 1
  if [[ $word != new && ${(j::)${(os::)word}} == enw ]]; then REPLY=new; return 0; fi
  for meant in $_efr_typo_words; do
    [[ $word != $meant ]] || return 1
    for (( i = 1; i <= $#meant + 1; i++ )); do
      a=${meant[1,i-1]} b=${meant[i,-1]}
      if [[ $word == ${a}[a-z]$b || $word == $a${b[2,-1]} || $word == ${a}[a-z]${b[2,-1]} ||
            ( $#b -gt 1 && $word == $a${b[2]}${b[1]}${b[3,-1]} ) ]]; then
        REPLY=$meant
        return 0
      fi
    done
  done
  return 1
}

_efr_quote() {
  emulate -L zsh
  if [[ -n $2 ]]; then
    # csh_junkie_quotes: a quoted string may not hold a newline.
    local text=${1//\\/\\\\}
    text=${text//\'/\\\'}
    text=${text//\!/\\x21}
    REPLY="\$'${text//$'\n'/\\n}'"
  else
    REPLY=${(qq)1}
  fi
}

# Looks at the accepted line. Sets BUFFER, the saved text, and in _efr_comments what
# interactive_comments must be while zsh reads the line. Arguments: the user's options.
_efr_plan() {
  emulate -L zsh -o extended_glob
  local aliases_on=$1 junkie=$2 local_options=$3 comments=$4 bang=$5
  _efr_comments= _efr_taken= _efr_text=
  [[ $CONTEXT == start ]] || return 0
  local robot=,
  if [[ -n $aliases_on && -z $local_options ]]; then
    _efr_robot_word
    robot=$REPLY
  fi
  local blanks=${BUFFER%%[^[:blank:]]*}
  local line=${BUFFER#$blanks}
  if [[ -n $_efr_sticky ]]; then
    _efr_plan_sticky "$line" "$robot"
    line=$REPLY
    BUFFER=$blanks$line
    PREDISPLAY=
  fi
  local word=${line%%[[:space:]]*}
  [[ $word == ,* || $word == $robot ]] || return 0
  if [[ $word != $robot ]] && (( ! ${+_efr_words[$word]} )); then
    # A definition, or a word of the user's own.
    [[ $line != ,[^[:space:]]##[[:blank:]]#\(* ]] || return 0
    ! _efr_runs "$word" || return 0
    if [[ $word == ,\!* ]]; then
      line=",! ${line#,!}"
      word=',!'
    else
      line=", ${line#,}"
      word=','
    fi
    BUFFER=$blanks$line
  fi
  local command=$word
  [[ $word == $robot ]] && command=','
  (( ${_efr_text_words[(Ie)$command]} )) || return 0
  _efr_trim "${line#$word}"
  local text=$REPLY
  if [[ -z $text ]]; then
    _efr_comments=off _efr_was_comments=$comments _efr_was_bang=$bang
    return 0
  fi
  local -a words=("${(@Z:n:)text}")
  # One quoted word already: the line comes from history, where this hook quoted it before.
  local quoted=
  [[ $#words -eq 1 && $text == (\'*\'|\$\'*\') ]] && quoted=1
  _efr_was_comments=$comments _efr_was_bang=$bang
  if [[ $text != *$'\n'* && -n $aliases_on && -z $local_options && ${histchars-} == ??\#* &&
        ${aliases[$word]-} == "noglob $_efr_words[$command] #" ]]; then
    if [[ -z $quoted || -z $junkie || $text != \$\'*\\n*\' ]]; then
      _efr_text=$text _efr_taken=1 _efr_comments=on
      return 0
    fi
  fi
  _efr_comments=off
  if [[ -z $quoted ]]; then
    _efr_quote "$text" "$junkie"
    text=$REPLY
  fi
  # What this hook sets does not outlive it: with the backslash the word is no alias.
  [[ -z $local_options || $comments == no_* ]] || word="\\$word"
  BUFFER="$blanks$word $text"
}

# What sticky mode makes of a line: REPLY.
_efr_plan_sticky() {
  emulate -L zsh -o extended_glob
  REPLY=$1
  local line=$1 robot=$2
  [[ $line == *[^[:space:]]* && $line != ,* && $line != ${robot}[[:space:]]* ]] || return 0
  if [[ $line == \!* ]]; then
    REPLY=${line#\!}
    return 0
  fi
  local -a words=(${=line})
  if [[ $line != *$'\n'* && $words[1] == (mode|model|effort) && $#words -le 2 &&
        ${words[2]-default} == [A-Za-z0-9._:/-]## ]]; then
    if (( $#words == 1 )) || _efr_accepts $words; then
      REPLY=",$line"
      return 0
    fi
  fi
  REPLY="$robot $line"
}

# Whether efr takes this value of a setting together with the terminal's others.
_efr_accepts() {
  emulate -L zsh
  [[ $2 == default ]] && return 0
  local -A want=("${(@kv)_efr_set}")
  want[$1]=$2
  EFR_MODE= EFR_MODEL= EFR_EFFORT= command efr settings ${want[mode]:+--mode=$want[mode]} \
    ${want[model]:+--model=$want[model]} ${want[effort]:+--effort=$want[effort]} \
    >/dev/null 2>&1 </dev/null
}

# The line-finish hook: runs for every way to accept a line, before zsh parses it. It keeps the
# options of the user in force, because what it sets must outlive it.
_efr_line_finish() {
  if [[ -z ${_efr_in_finish-} ]]; then
    local _efr_in_finish=1 _efr_a= _efr_j= _efr_l= _efr_c=no_ _efr_b=no_
    if [[ -o aliases ]]; then _efr_a=1; fi
    if [[ -o csh_junkie_quotes ]]; then _efr_j=1; fi
    if [[ -o local_options ]]; then _efr_l=1; fi
    if [[ -o interactive_comments ]]; then _efr_c=; fi
    if [[ -o bang_hist ]]; then _efr_b=; fi
    _efr_plan "$_efr_a" "$_efr_j" "$_efr_l" "${_efr_c}interactive_comments" "${_efr_b}bang_hist"
    if [[ -n $_efr_comments ]]; then
      setopt no_bang_hist
      if [[ $_efr_comments == on ]]; then
        setopt interactive_comments
      else
        setopt no_interactive_comments
      fi
    fi
    if (( ${+widgets[_efr-other-line-finish]} )); then
      zle _efr-other-line-finish -- "$@" || true
    fi
  fi
  return 0
}

_efr_line_init() {
  if [[ -z ${_efr_in_init-} ]]; then
    local _efr_in_init=1
    (( ${+EFR_TERMINAL_BG} )) || _efr_ask_background
    _efr_show_tag
    if (( ${+widgets[_efr-other-line-init]} )); then
      zle _efr-other-line-init -- "$@" || true
    fi
  fi
  return 0
}

# Whether the terminal's background is light or dark: asked once, for efr, which never asks itself.
# In the line editor, because there a reply is not echoed. OSC 11 asks for the colour, DA1 for what
# every terminal answers. Keys that come meanwhile are typed again, without the replies.
_efr_ask_background() {
  emulate -L zsh -o extended_glob
  [[ -t 1 && ${TERM-dumb} != dumb ]] && (( ! PENDING && ! KEYS_QUEUED_COUNT )) || return 0
  local key got= keys
  local -F until=$(( EPOCHREALTIME + 1 )) left r g b
  local -a match mbegin mend
  print -n '\e]11;?\e\\\e[c'
  while (( (left = until - EPOCHREALTIME) > 0 )) && read -s -k 1 -t $left key; do
    got+=$key
    [[ $got != *$'\e[?'[0-9\;]#c ]] || break
  done
  typeset -gx EFR_TERMINAL_BG=dark
  if [[ $got != *$'\e[?'[0-9\;]#c ]]; then
    keys=${got%%$'\e'*}
  elif [[ $got == (#b)(*)$'\e]11;rgb'(a|):([[:xdigit:]]##)/([[:xdigit:]]##)/([[:xdigit:]]##)(/[[:xdigit:]]##|)($'\a'|$'\e\\')(*) ]]; then
    keys=$match[1]${match[8]%$'\e[?'*}
    r=$(( 16#$match[3] / (16.0 ** $#match[3] - 1) ))
    g=$(( 16#$match[4] / (16.0 ** $#match[4] - 1) ))
    b=$(( 16#$match[5] / (16.0 ** $#match[5] - 1) ))
    (( 0.299 * r + 0.587 * g + 0.114 * b > 0.5 )) && EFR_TERMINAL_BG=light
  else
    keys=${got%$'\e[?'*}
  fi
  [[ -z $keys ]] || zle -U -- $keys
}

# Enter. Only for the lines that must not be accepted; then what had the name before.
_efr_accept_line() {
  if [[ $CONTEXT == start ]]; then
    _efr_keep_line && return 0
  fi
  if (( ${+widgets[_efr-other-accept-line]} )); then
    zle _efr-other-accept-line -- "$@"
  else
    zle .accept-line
  fi
}

_efr_keep_line() {
  emulate -L zsh -o extended_glob
  [[ $BUFFER == [[:blank:]]#,* ]] || return 1
  _efr_trim "$BUFFER"
  local line=$REPLY
  if [[ $line == , ]] && whence -p efr >/dev/null; then
    BUFFER=
    _efr_toggle_sticky
    return 0
  fi
  local word=${line%%[[:space:]]*}
  [[ $word == ,?* ]] && (( ! ${+_efr_words[$word]} )) || return 1
  ! _efr_runs "$word" && _efr_typo_of "${word#,}" || return 1
  zle -M "$word: did you mean ,$REPLY? A blank after the comma sends the line as a prompt."
  return 0
}

# Takes the names of the hooks, also back from a plugin that was loaded later.
_efr_claim() {
  emulate -L zsh
  local name own
  for name own in zle-line-finish _efr_line_finish zle-line-init _efr_line_init \
      accept-line _efr_accept_line; do
    case ${widgets[$name]-} in
      (user:$own) ;;
      (''|builtin) zle -N $name $own ;;
      (*)
        # Another plugin's wrapper of Enter already leads to ours: leave it in front.
        [[ $name == accept-line && -n ${_efr_enter_claimed-} ]] && continue
        zle -A $name _efr-other-${name#zle-}
        zle -N $name $own ;;
    esac
  done
  typeset -g _efr_enter_claimed=1
}

# --- Hooks of the prompt ---------------------------------------------------------------------

# The first part of each hook runs under the options of the user, the rest under those of zsh.

_efr_restore_options() {
  if [[ -n $_efr_was_comments ]]; then
    setopt "$_efr_was_comments" "$_efr_was_bang"
    _efr_restored
  fi
}

_efr_restored() {
  emulate -L zsh
  _efr_was_comments= _efr_was_bang=
}

_efr_preexec() {
  _efr_restore_options
  _efr_note_line "$1"
}

_efr_note_line() {
  emulate -L zsh
  local word=${1#"${1%%[^[:blank:]]*}"}
  word=${${word%%[[:space:]]*}#\\}
  if (( ${+_efr_words[$word]} )) || [[ ${aliases[$word]-} == $_efr_alias_of_send ]]; then
    _efr_kind=ours
  else
    _efr_kind=other
    _efr_line=$1
    _efr_started=$EPOCHREALTIME
  fi
}

_efr_precmd() {
  local _efr_result=$? _efr_hide=
  _efr_restore_options
  if [[ -o hist_ignore_space ]]; then _efr_hide=1; fi
  _efr_before_prompt "$_efr_result" "$_efr_hide"
}

_efr_before_prompt() {
  emulate -L zsh
  _efr_taken= _efr_text=
  # A line that history does not keep is told nobody.
  if [[ $_efr_kind == other && ( -z $2 || $_efr_line != [[:blank:]]* ) ]]; then
    _efr_last=$_efr_line _efr_last_status=$1
    _efr_remember $1
  elif [[ $_efr_kind == ours ]]; then
    print -n '\e[?25h'  # a run that was killed may have left the cursor hidden
  fi
  _efr_kind=
  _efr_claim
  _efr_register
  _efr_show_notices
  if [[ -n $_efr_drafts_due ]]; then
    _efr_drafts_due=
    _efr_take_drafts
  fi
  return 0
}

# Keeps a line for EFR_RECENT_COMMANDS: ten lines, 16 KiB.
_efr_remember() {
  emulate -L zsh
  (( $#_efr_line <= 4096 )) || return 0
  local command cwd ended
  _efr_json "$_efr_line"; command=$REPLY
  _efr_json "$PWD"; cwd=$REPLY
  TZ=UTC0 strftime -s ended '%Y-%m-%dT%H:%M:%SZ' $EPOCHSECONDS
  local -i took=$(( (EPOCHREALTIME - _efr_started) * 1000 ))
  _efr_recent+=("{\"command\":$command,\"status\":$1,\"cwd\":$cwd,\"ended_at\":\"$ended\",\"duration_ms\":$(( took > 0 ? took : 0 ))}")
  while (( $#_efr_recent > 10 || ${#${(j::)_efr_recent}} > 16384 )); do
    shift _efr_recent
  done
}

# --- Loading ---------------------------------------------------------------------------------

() {
  local word
  for word in ${(k)_efr_words}; do
    if (( ${_efr_text_words[(Ie)$word]} )); then
      alias -- "$word=noglob $_efr_words[$word] #"
    fi
    functions[$word]="$_efr_words[$word] \"\$@\""
  done
}

(( ${precmd_functions[(Ie)_efr_precmd]} )) || precmd_functions=(_efr_precmd $precmd_functions)
(( ${preexec_functions[(Ie)_efr_preexec]} )) || preexec_functions+=(_efr_preexec)
zle -N _efr-toggle-sticky _efr_toggle_sticky
bindkey -M emacs '^@' _efr-toggle-sticky
bindkey -M viins '^@' _efr-toggle-sticky
_efr_claim
_efr_drop_dead_drafts
whence -p efr >/dev/null || print -ru2 -- 'efr: the program efr is not on your PATH; , lines wait for it'

if [[ -n ${_efr_loading_without[1]-} ]]; then
  'builtin' 'setopt' "${_efr_loading_without[@]}"
fi
'builtin' 'unset' '_efr_loading_without' '_efr_name'
